import { parsedObject } from "../../core/parsed-json.ts";
import type { Outbox } from "../../core/ports.ts";
import type { StreamKey } from "../../core/sensor.ts";
import type { Topics } from "../../core/topics/topics.ts";
import type { RetainedReader } from "./retained-query.ts";

export interface LiveReadBackParts {
  readonly outbox: Pick<Outbox, "readBack" | "unproven">;
  readonly topics: Pick<Topics, "reading" | "root">;
  /** The agent's own retained state: where it comes, a topic from which nothing comes has nothing. Null: nothing is read back. */
  readonly marker: string | null;
}

/** After a start: which readings the broker has at the live topics of those that wait to go there. */
export class LiveReadBack implements RetainedReader {
  readonly #parts: LiveReadBackParts;
  #wanted = new Map<string, StreamKey>();
  #mayRead = false;

  constructor(parts: LiveReadBackParts) {
    this.#parts = parts;
  }

  begin(): string | null {
    const { marker, outbox, topics } = this.#parts;
    this.#mayRead = false;
    if (marker === null) return null;
    const wanted = outbox
      .unproven()
      .map((key) => [topics.reading(key.sensor, key.kind), key] as const);
    // Topics of a template of the site's own may be anywhere.
    const below = wanted.filter(([topic]) => isBelow(topics.root, topic));
    this.#wanted = new Map(below);
    return below.length === 0 ? null : `${topics.root}/+/+`;
  }

  received(topic: string, payload: Uint8Array): void {
    const { marker, outbox } = this.#parts;
    if (topic === marker) this.#mayRead = true;
    const key = this.#wanted.get(topic);
    if (key === undefined || payload.length === 0) return;
    const time = parsedObject(Buffer.from(payload).toString())?.["time"];
    const timeMs = typeof time === "string" ? Date.parse(time) : Number.NaN;
    if (Number.isNaN(timeMs)) return;
    this.#wanted.delete(topic);
    outbox.readBack(key.sensor, key.kind, timeMs);
  }

  async look(isGranted: boolean): Promise<void> {
    const wanted = this.#wanted;
    this.#wanted = new Map();
    if (!isGranted || !this.#mayRead) return;
    for (const { sensor, kind } of wanted.values()) this.#parts.outbox.readBack(sensor, kind, null);
  }
}

const isBelow = (root: string, topic: string) =>
  topic.startsWith(`${root}/`) && topic.slice(root.length + 1).split("/").length === 2;
