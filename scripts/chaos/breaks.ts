/** Changes that a campaign, or a seed in virtual time, must notice. */

/** A promise of the agent that a change to its sources breaks. */
export interface Break {
  readonly what: string;
  readonly file: string;
  readonly from: string;
  readonly to: string;
  /** With which a campaign can notice it. */
  readonly formats: string;
}

export const BREAKS: readonly Break[] = [
  {
    what: "a delivery is settled before its acknowledgement",
    file: "src/publish/publisher.ts",
    from: "const ticket: Ticket = { entry, queue, left: messages.length,",
    to: 'queue.record(entry, "sent"); const ticket: Ticket = { entry, queue, left: -1,',
    formats: "json",
  },
  {
    what: "a day's progress is committed a second before its readings",
    file: "src/store/readings/response-writer.ts",
    from: "    rows.length = 0;\n",
    to: `    rows.length = 0;
    if (progress !== null && readings.length > 0) {
      db.write(PROGRESS_SQL).run(key.day, stream.stream, progress.checkpoint, progress.records);
      const later = [...readings];
      setTimeout(() => void this.#enqueue(later, null), 1000);
      return;
    }
`,
    formats: "json",
  },
  {
    what: "no record is recognised as known",
    file: "src/store/readings/identities.ts",
    from: 'if (row.id.toString("hex") === id) return true;',
    to: "if (row.id.length === 0) return true;",
    formats: "json",
  },
  {
    what: "a Sparkplug message counts as delivered once it is written",
    file: "src/publish/sparkplug/node.ts",
    from: "onSent: (lane, entries) => window.add(lane, entries, clock.monotonic()),",
    to: 'onSent: (lane, entries) => { window.add(lane, [], clock.monotonic()); this.#settle(lane, entries, "sent"); },',
    formats: "json,sparkplug",
  },
  {
    what: "an older reading goes to the live topic",
    file: "src/store/outbox/lane-queue.ts",
    from: "    return timeMs > this.mark &&",
    to: "    return timeMs !== this.mark &&",
    formats: "json",
  },
  {
    what: "the gateway's time has fractions of a millisecond",
    file: "src/poll/gateway-clock.ts",
    from: "return Math.floor(anchor.gatewayMs + (this.#clock.monotonic() - anchor.monotonic));",
    to: "return anchor.gatewayMs + (this.#clock.monotonic() - anchor.monotonic);",
    formats: "json",
  },
  {
    what: "the first row that is given back is not read again",
    file: "src/store/outbox/lane-queue.ts",
    from: "if (!isBehind) this.cursor = { ...to, seq: to.seq - 1 };",
    to: "if (!isBehind) this.cursor = to;",
    formats: "json",
  },
];

/** The text of its file, broken. Throws if the sources have moved on. */
export function broken(text: string, { file, from, to }: Omit<Break, "what" | "formats">): string {
  if (text.split(from).length !== 2) throw new Error(`${file} no longer holds once: ${from}`);
  return text.replace(from, () => to);
}
