/** The end of a campaign: what the gateway showed against what subscribers received and the store holds, id by id. */
import type { Expectation, Wanted } from "./expectation.ts";
import type { GapRecord, Received } from "./received.ts";
import type { RecordingHost } from "./recording-host.ts";

export interface Evidence {
  readonly recorder: Pick<Received, "ids" | "doubled" | "gaps" | "waveforms">;
  /** The Sparkplug host; null without that format. */
  readonly host: Pick<RecordingHost, "hasReading" | "hasWaveform"> | null;
  /** Ids that the store holds; null until they have been read. */
  readonly stored: ReadonlySet<string> | null;
}

export interface Verdict {
  readonly shown: number;
  readonly received: number;
  /** A subscriber did not get it, and no gap record accounts for it. */
  readonly lost: readonly string[];
  /** Missing, removed from the store, and counted in a gap record. */
  readonly dropped: number;
  readonly invented: readonly string[];
  readonly doubled: readonly string[];
  /** The same id more than once: allowed, delivery is at least once. */
  readonly repeats: number;
  /** Shown only for a moment, and gone before an agent stored it. */
  readonly takenBack: number;
}

export function judge({ must, may, gone }: Expectation, evidence: Evidence): Verdict {
  const { recorder, stored } = evidence;
  const reported = new ReportedGaps([...recorder.gaps].filter(isOfMain));
  const lost: string[] = [];
  /** Those missing that the store does not hold: a gap record may account for them. What it does hold is lost. */
  const absentOf = (all: ReadonlyMap<string, Wanted>) => {
    const absent = new Map<string, Wanted>();
    for (const [id, wanted] of all) {
      const where = missingAt(id, wanted, evidence);
      if (where === null) continue;
      if (stored?.has(id) === true) lost.push(`${describe(id, wanted)} ${where}, stored`);
      else absent.set(id, wanted);
    }
    return absent;
  };
  const absent = absentOf(must);
  const unreported = reported.take(absent);
  for (const [id, wanted] of unreported) {
    const where = missingAt(id, wanted, evidence);
    lost.push(`${describe(id, wanted)} ${where}, not stored${reported.remainder(wanted)}`);
  }
  const takenBack = reported.take(absentOf(gone)).size;
  const invented = [...recorder.ids.keys()].filter((id) => !may.has(id));
  for (const id of stored ?? []) {
    if (!may.has(id) && !recorder.ids.has(id)) invented.push(`${id} (stored)`);
  }
  return {
    shown: must.size,
    received: recorder.ids.size,
    lost,
    dropped: absent.size - unreported.size,
    invented,
    doubled: [...recorder.doubled.keys()],
    repeats: repeatsOf(recorder.ids),
    takenBack,
  };
}

export function repeatsOf(ids: Received["ids"]): number {
  let repeats = 0;
  for (const { count } of ids.values()) repeats += count - 1;
  return repeats;
}

/** With a single uplink, none is named. */
const isOfMain = ({ uplink = "main" }: GapRecord) => uplink === "main";

/** Which subscriber lacks it; null if none does. */
function missingAt(id: string, wanted: Wanted, { recorder, host }: Evidence): string | null {
  const seen = recorder.ids.get(id);
  if (seen === undefined) return "on MQTT";
  return host === null || host.hasReading(wanted, seen.values) ? null : "at the Sparkplug host";
}

/** Waveforms that a subscriber lacks. The store counts those that it gave up, but does not list them. */
export function missingWaveforms(
  { must }: Pick<Expectation, "must">,
  { recorder, host }: Pick<Evidence, "recorder" | "host">,
): string[] {
  const missing: string[] = [];
  for (const [id, wanted] of must) {
    for (const channel of wanted.channels) {
      const where = [
        recorder.waveforms.has(`${id} ${channel}`) ? [] : ["on MQTT"],
        host === null || host.hasWaveform(wanted, channel) ? [] : ["at the Sparkplug host"],
      ].flat();
      missing.push(...where.map((place) => `waveform ${describe(id, wanted)} ${channel} ${place}`));
    }
  }
  return missing;
}

export const describe = (id: string, { sensor, kind, timeMs }: Wanted) =>
  `${id} ${sensor} ${kind} ${iso(timeMs)}`;

interface OpenGap {
  readonly from: number;
  readonly to: number;
  left: number;
}

/** What gap records account for: each for as many readings as it counts, within its span. */
export class ReportedGaps {
  readonly #byStream = new Map<string, OpenGap[]>();

  constructor(gaps: Iterable<GapRecord>) {
    for (const { sensor, kind, from, to, count } of gaps) {
      const list = this.#byStream.get(`${sensor} ${kind}`) ?? [];
      list.push({ from: Date.parse(from), to: Date.parse(to), left: count });
      this.#byStream.set(`${sensor} ${kind}`, list);
    }
  }

  /**
   * The missing readings that no gap record accounts for. Spans overlap: in order of time, each reading takes the record that
   * ends first, which accounts for as many readings as any other choice.
   */
  take(missing: ReadonlyMap<string, Wanted>): Map<string, Wanted> {
    const rest = new Map<string, Wanted>();
    for (const [id, wanted] of [...missing].sort(([, a], [, b]) => a.timeMs - b.timeMs)) {
      const gap = this.#of(wanted)
        .filter(({ from, to, left }) => left > 0 && wanted.timeMs >= from && wanted.timeMs <= to)
        .reduce<OpenGap | null>((best, one) => (best && best.to <= one.to ? best : one), null);
      if (gap) gap.left -= 1;
      else rest.set(id, wanted);
    }
    return rest;
  }

  /** For the report: readings that gap records of the stream count although none is missing. */
  remainder(wanted: Wanted): string {
    const gaps = this.#of(wanted).filter(({ left }) => left > 0);
    const spans = gaps.map(({ from, to, left }) => `${left} from ${iso(from)} to ${iso(to)}`);
    return spans.length === 0 ? "" : `; gap records left over: ${spans.join(", ")}`;
  }

  #of({ sensor, kind }: Wanted): OpenGap[] {
    return this.#byStream.get(`${sensor} ${kind}`) ?? [];
  }
}

const iso = (ms: number) => new Date(ms).toISOString();

/** Ids as `gateside export --format jsonl` writes them. */
export function storedIds(jsonLines: string): { ids: Set<string>; twice: Set<string> } {
  const ids = new Set<string>();
  const twice = new Set<string>();
  for (const line of jsonLines.split("\n")) {
    if (line === "") continue;
    const { id }: { id: string } = JSON.parse(line);
    if (ids.has(id)) twice.add(id);
    ids.add(id);
  }
  return { ids, twice };
}
