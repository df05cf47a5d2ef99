/** Topic templates: texts with placeholders that become one topic per stream (plant section 10). Pure. */
import { KINDS, type Kind, type Sensor } from "../sensor.ts";
import { topicLevel } from "./topic-level.ts";

const TEMPLATE_NAMES = ["reading", "history", "state", "waveform", "value", "machine"] as const;
export type TemplateName = (typeof TEMPLATE_NAMES)[number];
/**
 * Omitted templates use the topics of contract section 6; history without its own is the reading's topic + `/history`.
 */
export type TopicTemplates = Readonly<Partial<Record<TemplateName, string>>>;

const PLACES = ["company", "area", "machine", "point"] as const;
const EVERYWHERE = ["prefix", "site", "sensor", "name", ...PLACES] as const;

/** Which placeholders are valid where. */
const PLACEHOLDERS: Readonly<Record<TemplateName, readonly string[]>> = {
  reading: [...EVERYWHERE, "kind"],
  history: [...EVERYWHERE, "kind"],
  state: EVERYWHERE,
  waveform: [...EVERYWHERE, "kind", "channel"],
  value: [...EVERYWHERE, "kind", "value"],
  machine: ["prefix", "site", "company", "area", "machine", "id"],
};

const DEFAULT_TEMPLATES = {
  reading: "{prefix}/{site}/{sensor}/{kind}",
  state: "{prefix}/{site}/{sensor}/state",
  waveform: "{prefix}/{site}/{sensor}/waveform/{channel}",
  value: "{prefix}/{site}/{sensor}/{kind}/{value}",
  machine: "{prefix}/{site}/machine/{id}",
} as const;

export function templateText(templates: TopicTemplates, name: TemplateName): string {
  const own = templates[name];
  if (own !== undefined) return own;
  if (name === "history") return `${templateText(templates, "reading")}/history`;
  return DEFAULT_TEMPLATES[name];
}

/** Replaces a level that a sensor does not have, such as the area of a sensor without a location. */
const NOWHERE = "_";

export interface TopicFields {
  /** One level or several, used unchanged. */
  readonly prefix: string;
  readonly site: string;
  readonly code: string;
  /** Undefined for a sensor that was removed from the site file: it has no name and no location any more. */
  readonly sensor: Sensor | undefined;
  readonly kind?: Kind;
  readonly channel?: string;
  readonly value?: string;
  /** Of a machine; `sensor` is its first. */
  readonly machine?: { readonly id: number; readonly name: string | null };
}

/** Templates are few, and rendered for every message: their texts and placeholders by turns. */
const parsed = new Map<string, readonly string[]>();
const PARSED_MAX = 100;

function partsOf(template: string): readonly string[] {
  let parts = parsed.get(template);
  if (parts === undefined) {
    parts = template.split(/\{(\w+)\}/);
    if (parsed.size >= PARSED_MAX) parsed.clear();
    parsed.set(template, parts);
  }
  return parts;
}

/** The topic of one stream. The template must have passed `templateFaults`. */
export function renderTopic(template: string, fields: TopicFields): string {
  let topic = "";
  let isPlaceholder = false;
  for (const part of partsOf(template)) {
    topic += isPlaceholder ? fieldText(part, fields) : part;
    isPlaceholder = !isPlaceholder;
  }
  // Topics that begin with $ are reserved by the broker; a template may use one ($aws/rules), a name may not.
  return topic.startsWith("$") && !template.startsWith("$") ? `_${topic.slice(1)}` : topic;
}

function fieldText(name: string, fields: TopicFields): string {
  switch (name) {
    case "prefix":
      return fields.prefix;
    case "site":
      return topicLevel(fields.site);
    case "sensor":
      return topicLevel(fields.code);
    case "name":
      return topicLevel(fields.sensor?.name ?? fields.code);
    case "kind":
      return topicLevel(fields.kind ?? NOWHERE);
    case "channel":
      return topicLevel(fields.channel ?? NOWHERE);
    case "value":
      return topicLevel(fields.value ?? NOWHERE);
    case "id":
      return `${fields.machine?.id}`;
    case "machine":
      if (fields.machine !== undefined)
        return topicLevel(fields.machine.name ?? `${fields.machine.id}`);
      return placeText(name, fields.sensor);
    default:
      return placeText(name, fields.sensor);
  }
}

/** The name if there is one, otherwise the id. */
function placeText(name: string, sensor: Sensor | undefined): string {
  const place = PLACES.find((one) => one === name);
  const location = sensor?.location;
  if (place === undefined || location === undefined) return NOWHERE;
  return topicLevel(location.names?.[place] ?? String(location[place]));
}

/**
 * Whether one of the templates may make this topic. Any text stands for a placeholder but `{prefix}`, `{site}`, and a level
 * that is `{sensor}` or `{kind}` alone.
 */
export function isOfTemplates(
  templates: TopicTemplates,
  topic: string,
  { prefix, site, sensors }: TemplatePlaces,
): boolean {
  const levels = topic.split("/");
  const stands = (shape: string, level: string): boolean => {
    if (shape === "{sensor}") return codeLevels(sensors).has(level);
    if (shape === "{kind}") return KINDS.some((kind) => kind === level);
    return shape.includes("{") || shape === level;
  };
  return TEMPLATE_NAMES.some((name) => {
    if (templates[name] === undefined && (name !== "history" || templates.reading === undefined))
      return false;
    const text = templateText(templates, name)
      .replaceAll("{prefix}", () => prefix)
      .replaceAll("{site}", () => topicLevel(site));
    const shapes = text.split("/");
    return (
      shapes.length === levels.length &&
      shapes.every((shape, at) => stands(shape, levels[at] ?? ""))
    );
  });
}

/** Of the sensors of one site file: whoever may publish asks as often as the broker passes it on. */
const levelsOf = new WeakMap<TemplatePlaces["sensors"], ReadonlySet<string>>();

function codeLevels(sensors: TemplatePlaces["sensors"]): ReadonlySet<string> {
  const known = levelsOf.get(sensors);
  if (known !== undefined) return known;
  const levels = new Set(sensors.map(({ code }) => topicLevel(code)));
  levelsOf.set(sensors, levels);
  return levels;
}

interface TemplatePlaces {
  readonly prefix: string;
  readonly site: string;
  readonly sensors: readonly Pick<Sensor, "code">[];
}

export interface TemplateFault {
  readonly name: TemplateName;
  readonly problem: string;
  readonly remedy: string;
}

/** MQTT 5 section 1.5.4: no UTF-8 text is longer. Names need part of that, so templates end well before it. */
const TEMPLATE_LENGTH_MAX = 1000;

/** All faults in the templates themselves, independent of the site. */
export function templateFaults(templates: TopicTemplates): TemplateFault[] {
  return TEMPLATE_NAMES.flatMap((name) => {
    const text = templates[name];
    return text === undefined ? [] : faultsOf(name, text);
  });
}

function faultsOf(name: TemplateName, text: string): TemplateFault[] {
  const faults: TemplateFault[] = [];
  const allowed = PLACEHOLDERS[name];
  const found = [...text.matchAll(/\{([^{}]*)\}/g)].map((match) => match[1] ?? "");
  for (const unknown of new Set(found.filter((one) => !allowed.includes(one)))) {
    faults.push({
      name,
      problem: `contains the placeholder {${unknown}}, which is not available in a ${name} topic`,
      remedy: `use ${allowed.map((one) => `{${one}}`).join(" ")}`,
    });
  }
  if (name === "machine" && !found.includes("id") && !found.includes("machine"))
    faults.push({
      name,
      problem: "would be the same topic for every machine",
      remedy: "add {id}, or {machine} if all names differ",
    });
  const literal = text.replace(/\{[^{}]*\}/g, "x");
  if (/[{}]/.test(literal)) {
    faults.push({
      name,
      problem: "has an unmatched brace",
      remedy: "write placeholders as {sensor}",
    });
  }
  if (/[+#]|\p{Control}|\p{Surrogate}/u.test(literal)) {
    faults.push({
      name,
      problem: "contains + # or a control character, which topics must not contain",
      remedy: "remove it",
    });
  }
  if (literal.split("/").includes("")) {
    faults.push({
      name,
      problem: "has an empty level",
      remedy: "remove slashes at the start and end, and double slashes",
    });
  }
  if (literal.startsWith("$") && !literal.startsWith("$aws/rules/")) {
    faults.push({
      name,
      problem: "begins with $, which brokers reserve for their own topics",
      remedy: "begin with {prefix} or a word",
    });
  }
  if (text.length > TEMPLATE_LENGTH_MAX) {
    faults.push({
      name,
      problem: `has ${text.length} characters`,
      remedy: `use at most ${TEMPLATE_LENGTH_MAX}`,
    });
  }
  return faults;
}
