/** Changes that a campaign, or a seed in virtual time, must notice. */

/** A promise of the agent that a change to its sources breaks. */
export interface Break {
  readonly what: string;
  readonly file: string;
  readonly from: string;
  readonly to: string;
  /** With which a campaign can notice it. */
  readonly formats: string;
  /** One of the seeds 1 to 20 that notices it in virtual time, with how many hours of faults. */
  readonly virtual: { readonly seed: number; readonly hours: number };
}

export const BREAKS: readonly Break[] = [
  {
    what: "a delivery is settled before its acknowledgement",
    file: "src/pipeline/publish/publisher.ts",
    from: "const ticket: Ticket = { entry, queue, left: messages.length,",
    to: 'queue.record(entry, "sent"); const ticket: Ticket = { entry, queue, left: -1,',
    formats: "json",
    virtual: { seed: 15, hours: 0.2 },
  },
  {
    what: "a day's progress is committed a second before its readings",
    file: "src/pipeline/store/readings/response-writer.ts",
    from: "    const job: WriteJob<number> = {\n",
    to: `    if (progress !== null && readings.length > 0)
      return this.#enqueue([], progress)
        .then(() => new Promise((resolve) => setTimeout(resolve, 1000)))
        .then(() => this.#enqueue(readings, null));
    const job: WriteJob<number> = {
`,
    formats: "json",
    virtual: { seed: 3, hours: 0.1 },
  },
  {
    what: "no record is recognised as known",
    file: "src/pipeline/store/readings/identities.ts",
    from: 'if (row.id.toString("hex") === id) return true;',
    to: "if (row.id.length === 0) return true;",
    formats: "json",
    virtual: { seed: 2, hours: 0.2 },
  },
  {
    what: "a Sparkplug message counts as delivered once it is written",
    file: "src/features/sparkplug/node.ts",
    from: "onSent: (lane, entries) => window.add(lane, entries, clock.monotonic()),",
    to: 'onSent: (lane, entries) => { window.add(lane, [], clock.monotonic()); settlements.settle(lane, entries, "sent"); },',
    formats: "json,sparkplug",
    virtual: { seed: 1, hours: 0.1 },
  },
  {
    what: "an older reading goes to the live topic",
    file: "src/pipeline/store/outbox/stream-queue.ts",
    from: "    return timeMs > this.mark &&",
    to: "    return timeMs !== this.mark &&",
    formats: "json",
    virtual: { seed: 2, hours: 0.1 },
  },
  {
    what: "the gateway's time has fractions of a millisecond",
    file: "src/pipeline/poll/gateway-clock.ts",
    from: "return Math.floor(anchor.gatewayMs + (this.#clock.monotonic() - anchor.monotonic));",
    to: "return anchor.gatewayMs + (this.#clock.monotonic() - anchor.monotonic);",
    formats: "json",
    virtual: { seed: 3, hours: 0.1 },
  },
  {
    what: "the first row that is given back is not read again",
    file: "src/pipeline/store/outbox/stream-queue.ts",
    from: "if (!isBehind) this.cursor = { ...to, seq: to.seq - 1 };",
    to: "if (!isBehind) this.cursor = to;",
    formats: "json",
    virtual: { seed: 4, hours: 0.1 },
  },
  {
    what: "the metric of what an uplink lost leaves out what one commit gave up in numbers",
    file: "src/pipeline/store/outbox/gap-log.ts",
    from: "for (const one of made) this.#parts",
    to: "for (const one of made) if (one.count < 16) this.#parts",
    formats: "json",
    virtual: { seed: 19, hours: 0.3 },
  },
  {
    what: "after a commit, an error that nobody sees leaves memory behind the disk",
    file: "src/core/tx.ts",
    from: "for (const act of this.#acts) act();",
    to: "for (const act of this.#acts.slice(0, 12)) act();",
    formats: "json",
    virtual: { seed: 2, hours: 0.1 },
  },
  {
    what: "the size of identities keeps what a rolled-back transaction added",
    file: "src/pipeline/store/readings/identities.ts",
    from: `    tx.onRollback(() => {
      this.bytes -= bytes;
    });
`,
    to: "",
    formats: "json",
    virtual: { seed: 7, hours: 0.3 },
  },
  {
    what: "the present day is read when its next record is due, and not within its interval",
    file: "src/pipeline/poll/next-read.ts",
    from: "if (aimMs !== null && aimMs <= latestMs)",
    to: "if (aimMs !== null)",
    formats: "json",
    virtual: { seed: 1, hours: 0.1 },
  },
];

/** The text of its file, broken. Throws if the sources have moved on. */
export function broken(
  text: string,
  { file, from, to }: Pick<Break, "file" | "from" | "to">,
): string {
  if (text.split(from).length !== 2) throw new Error(`${file} no longer holds once: ${from}`);
  return text.replace(from, () => to);
}
