/** Turns a survey of an analytics service into a draft of the site file (pure). */
import { normalCode, POLLED_KINDS, type PolledKind } from "../../core/sensor.ts";
import { shaftNotes } from "./shaft-notes.ts";
import { placeKey, type Survey, type SurveyedDevice } from "./survey.ts";

/** What the operator adds because the service does not have it. */
export interface DraftHints {
  readonly site: string | null;
  /** Kinds by sensor type code. */
  readonly kinds: ReadonlyMap<number, readonly PolledKind[]>;
  /** Rating of the clamps, A, for every current channel. */
  readonly clamp: number | null;
  /** Unit and range for every loop channel. */
  readonly loop: { readonly unit: string; readonly low: number; readonly high: number } | null;
  /** True if they come from a form, not from flags: notes then name its fields. */
  readonly isForm?: boolean;
}

type SiteDraft = Record<string, unknown> & { sensors: Record<string, unknown>[] };
export interface DraftResult {
  readonly site: SiteDraft;
  readonly added: number;
  /** Sensors that were already in the file. */
  readonly kept: number;
  /** Left out, because something about them is not known. */
  readonly left: number;
  /** What could not be known, one line each. */
  readonly notes: readonly string[];
}

const AXES = ["H", "V", "A"] as const;
const NAME_LENGTH_MAX = 200;
/** Sensors named in one note; a hundred would hide the message. */
const NAMED_MAX = 8;
const CURRENT_CHANNELS: Readonly<Partial<Record<PolledKind, number>>> = {
  current: 3,
  currentV2: 4,
};
const LOOP_CHANNELS = 4;

/** Adds what was found to `existing` (a parsed site file), or to nothing. Existing content is never changed. */
export function draftSite(
  found: Survey,
  existing: Readonly<Record<string, unknown>> | null,
  hints: DraftHints,
): DraftResult {
  const notes = [...found.notes];
  const kindsByType = learnKinds(found.devices, hints, notes);
  const listed = existing?.["sensors"];
  const old: Record<string, unknown>[] = Array.isArray(listed) ? listed : [];
  const sensors = old.map((one) => ({ ...one }));
  const byCode = new Map(sensors.map((one) => [normalCode(String(one["code"])), one]));
  const counts = { added: 0, kept: 0, left: 0 };
  const seen = new Set<string>();
  for (const surveyed of found.devices) {
    const code = normalCode(surveyed.device.code);
    if (seen.has(code)) continue;
    seen.add(code);
    const location = locationOf(surveyed, found, notes);
    const present = byCode.get(code);
    if (present !== undefined) {
      counts.kept += 1;
      // A missing location may be filled in; nothing that a person wrote is changed.
      if (location !== null && !("location" in present)) present["location"] = location;
      continue;
    }
    const made = draftSensor(surveyed, location, kindsByType, hints, notes);
    if (made === null) {
      counts.left += 1;
      continue;
    }
    counts.added += 1;
    sensors.push(made);
  }
  // Those of the file come first, in its order.
  const placed = sensors.filter((_, i) => old[i]?.["location"] === undefined);
  notes.push(...shaftNotes(placed, existing?.["machines"]));
  for (const [code, one] of byCode) {
    if (!seen.has(code))
      notes.push(`${String(one["code"])}: in the file but not listed by the service; kept`);
  }
  const head = existing ?? {
    $schema: "./site.schema.json",
    site: hints.site ?? siteName(found, notes),
  };
  return { site: { ...head, sensors }, ...counts, notes: joinNotes(notes) };
}

/**
 * Specified by the operator, or observed: if one sensor of a type has axes, the type measures vibration. Nothing is
 * known in advance.
 */
function learnKinds(
  devices: readonly SurveyedDevice[],
  hints: DraftHints,
  notes: string[],
): ReadonlyMap<number, readonly PolledKind[]> {
  const kinds = new Map(hints.kinds);
  for (const { device, assignments } of devices) {
    const { type, code } = device;
    if (type === null || kinds.has(type)) continue;
    if (!assignments.some(({ axis }) => axis !== null)) continue;
    kinds.set(type, ["accel"]);
    notes.push(
      `type ${type}: treated as accel, because ${code} measures axes; check that it has no other kind`,
    );
  }
  return kinds;
}

function draftSensor(
  { device, assignments }: SurveyedDevice,
  location: object | null,
  kindsByType: ReadonlyMap<number, readonly PolledKind[]>,
  hints: DraftHints,
  notes: string[],
): Record<string, unknown> | null {
  const { code, type, name } = device;
  const shown = name === "" ? code : `${code} (${name})`;
  if (type === null || type < 0) {
    notes.push(`${shown}: left out, because the service has no type code for it`);
    return null;
  }
  const kinds = kindsByType.get(type);
  if (kinds === undefined) {
    notes.push(
      `${shown}: left out, because the kinds of type ${type} are unknown; ${hints.isForm ? `choose them for type ${type}` : `set --kinds ${type}=KIND (${POLLED_KINDS.join(", ")})`}`,
    );
    return null;
  }
  const channels = channelsOf(kinds, { device, assignments }, hints, shown, notes);
  if (channels === null) return null;
  if (!device.isEnabled)
    notes.push(`${shown}: not read ("enabled": false), because it is disabled at the service`);
  return {
    code,
    type,
    ...optional("name", name),
    ...optional("description", device.description),
    ...optional("model", device.model),
    kinds,
    ...(!device.isEnabled && { enabled: false }),
    ...(location !== null && { location }),
    ...(Object.keys(channels).length > 0 && { channels }),
    ...(device.batteryType !== null &&
      device.batteryType >= 1 &&
      device.batteryType <= 4 && { batteryType: device.batteryType }),
  };
}

/** Null: the sensor would publish nothing, or wrong values. */
function channelsOf(
  kinds: readonly PolledKind[],
  { device, assignments }: SurveyedDevice,
  hints: DraftHints,
  shown: string,
  notes: string[],
): Record<string, object> | null {
  const channels: Record<string, object> = {};
  // A channel that is not there would have bad values for good.
  const there = (most: number) =>
    device.channelCount !== null && device.channelCount > 0
      ? Math.min(device.channelCount, most)
      : most;
  for (const kind of kinds) {
    const currentsMax = CURRENT_CHANNELS[kind];
    if (currentsMax !== undefined) {
      const currents = there(currentsMax);
      if (hints.clamp === null) {
        notes.push(
          `${shown}: left out, because the service does not know which clamps are fitted; ${hints.isForm ? "choose the clamp" : "set --clamp (50, 100, 250 or 500)"}`,
        );
        return null;
      }
      for (let n = 1; n <= currents; n++) channels[`current${n}`] = { clamp: hints.clamp };
      notes.push(
        `${shown}: clamps of ${hints.clamp} A on ${countOf(currents)}${hints.isForm ? "" : " by --clamp"}; correct those that differ, remove unused channels`,
      );
    }
    if (kind === "loop") {
      if (hints.loop === null) {
        notes.push(
          `${shown}: left out, because the service does not know the loop's unit and range; ${hints.isForm ? "enter them" : "set --loop UNIT:LOW:HIGH"}`,
        );
        return null;
      }
      const loops = there(LOOP_CHANNELS);
      for (let n = 1; n <= loops; n++) channels[`channel${n}`] = { ...hints.loop };
      notes.push(
        `${shown}: ${hints.loop.unit} from ${hints.loop.low} to ${hints.loop.high} on ${countOf(loops)}${hints.isForm ? "" : " by --loop"}; correct those that differ, remove unused channels`,
      );
    }
    if (kind === "accel") Object.assign(channels, axesOf(assignments, channels, shown, notes));
  }
  return channels;
}

const countOf = (channels: number) => `${channels} channel${channels === 1 ? "" : "s"}`;

/** An unlisted channel means H, V, A, so only another order is written. */
function axesOf(
  assignments: SurveyedDevice["assignments"],
  channels: Readonly<Record<string, object>>,
  shown: string,
  notes: string[],
): Record<string, object> {
  const codes = [...new Set(assignments.map(({ axis }) => axis))].filter((axis) => axis !== null);
  const names = codes.map((axis) => AXES[axis - 1]).filter((axis) => axis !== undefined);
  if (names.length === 0) {
    notes.push(`${shown}: axes are unknown; channels 1, 2, 3 are treated as H, V, A`);
    return {};
  }
  const isUsual = names.join("") === AXES.join("");
  if (isUsual && Object.keys(channels).length === 0) return {};
  if (!isUsual)
    notes.push(
      `${shown}: channels treated as ${names.join(", ")} in the order in which the service lists the axes; check this on the machine`,
    );
  return Object.fromEntries(
    names.slice(0, 3).map((axis, index) => {
      const name = `channel${index + 1}`;
      return [name, { ...channels[name], axis }];
    }),
  );
}

function locationOf(
  { device, assignments }: SurveyedDevice,
  found: Survey,
  notes: string[],
): object | null {
  const [first] = assignments;
  if (first === undefined) {
    notes.push(`${device.code}: no location, because the service does not list one`);
    return null;
  }
  const others = assignments.filter(
    ({ machine, point }) => machine !== first.machine || point !== first.point,
  );
  if (others.length > 0)
    notes.push(`${device.code}: assigned to more than one measuring point; the first is used`);
  const place = found.places.get(placeKey(first.machine, first.point));
  if (place === undefined) {
    notes.push(
      `${device.code}: company and area of machine ${first.machine} are unknown, so it has no location`,
    );
    return null;
  }
  const { company, area, machine, point } = place;
  return {
    company: company.id,
    area: area.id,
    machine: machine.id,
    point: point.id,
    names: {
      ...optional("company", company.name),
      ...optional("area", area.name),
      ...optional("machine", machine.name),
      ...optional("point", point.name),
    },
  };
}

/** The service's empty texts are treated as missing. */
function optional(name: string, value: string): Record<string, string> {
  const text = value.trim().slice(0, NAME_LENGTH_MAX).trim();
  return text === "" ? {} : { [name]: text };
}

function siteName({ companies }: Survey, notes: string[]): string {
  const name = (companies[0]?.name ?? "")
    .toLowerCase()
    .replace(/[^a-z0-9]+/g, "-")
    .replace(/^-|-$/g, "")
    .slice(0, 40);
  const site = name === "" ? "site" : name;
  notes.push(
    `the site is named ${JSON.stringify(site)}; the name is part of every topic: change it now, or set --site`,
  );
  return site;
}

/** Notes `subject: what` with the same message for several subjects are joined, in the order of their first. */
export function joinNotes(notes: readonly string[]): string[] {
  const subjectsOf = new Map<string, string[]>();
  for (const note of notes) {
    const [, subject = "", what = note] = /^(.+?): (.+)$/.exec(note) ?? [];
    const subjects = subjectsOf.get(what);
    if (subjects === undefined) subjectsOf.set(what, [subject]);
    else subjects.push(subject);
  }
  return Array.from(subjectsOf, ([what, subjects]) => {
    const more = subjects.length - NAMED_MAX;
    const named = subjects.slice(0, NAMED_MAX).join(", ");
    return subjects[0] === "" ? what : `${named}${more > 0 ? ` and ${more} more` : ""}: ${what}`;
  });
}
