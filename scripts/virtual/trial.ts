/** One seed from beginning to end: everything happens, everything heals, and then the account must be right. */
import { mkdirSync, rmSync } from "node:fs";
import type { Verdict } from "../chaos/compare.ts";
import { type Expectation, Expectations } from "../chaos/expectation.ts";
import { account, writeRows } from "./account.ts";
import type { LogLine } from "./agent-life.ts";
import { Checks } from "./checks.ts";
import type { Drawn } from "./draw.ts";
import { happen } from "./happen.ts";
import { HOUR_MS, MINUTE_MS } from "./happenings.ts";
import type { Program } from "./program.ts";
import { openStage, type Stage } from "./stage.ts";
import { Died } from "./virtual-process.ts";
import { World } from "./world.ts";

export interface TrialOptions {
  readonly drawn: Drawn;
  readonly agent: Program;
  readonly plant: Program;
  /** Made and removed by the trial; its name is not seen by the agent's messages. */
  readonly directory: string;
  readonly journalPath: string | null;
  /** For the rows of the store at the end, without what depends on the order of storing. */
  readonly rowsPath: string | null;
  /** A failure is what is expected: the first one ends the trial, and what is missing is waited for only as long as this, ms. */
  readonly stuckMs?: number;
}

export interface Outcome {
  readonly seed: number;
  readonly failures: readonly string[];
  readonly received: number;
  /** Missing, and told in a gap. */
  readonly dropped: number;
  readonly events: number;
  /** The same reading more than once: allowed. */
  readonly repeats: number;
  readonly starts: number;
  readonly happened: number;
  readonly virtualHours: number;
  readonly digest: string;
  readonly tail: readonly string[];
}

/** After everything has healed, the rest is read and delivered within this time. */
const SETTLE_MS = 8 * HOUR_MS;
/** Link cuts after which a message may be taken for the reason of the last. */
const CUTS_THAT_ACCUSE = 3;
/** What does not become less within this time, longer than any pause of the agent but that of a day set aside, never will. */
const STUCK_MS = 1.5 * HOUR_MS;
const CHECK_MS = 5 * MINUTE_MS;
/** A trial that goes wrong again and again is given up. */
const FAILURES_MAX = 100;
const BACKFILL_DAYS = 3;
/** A buffer that fills while the broker is away. */
const SMALLEST_MB = "8";

export async function runTrial(options: TrialOptions): Promise<Outcome> {
  mkdirSync(options.directory);
  const world = new World();
  const trial = new Trial(world, options);
  const onRejection = (error: unknown) => {
    if (!(error instanceof Died)) trial.failed(`unhandled rejection: ${String(error)}`);
  };
  process.on("unhandledRejection", onRejection);
  try {
    return await world.run(trial.run());
  } finally {
    process.off("unhandledRejection", onRejection);
    rmSync(options.directory, { recursive: true, force: true });
  }
}

class Trial {
  readonly #world: World;
  readonly #options: TrialOptions;
  readonly #failures: string[] = [];
  /** Errors that the seed's faults explain. */
  readonly #explained: RegExp;
  readonly #failuresMax: number;
  readonly #hopeless: Promise<null>;
  #giveUp: () => void = () => {};

  constructor(world: World, options: TrialOptions) {
    this.#world = world;
    this.#options = options;
    this.#failuresMax = options.stuckMs === undefined ? FAILURES_MAX : 1;
    const { plan, env } = options.drawn;
    const names = new Set(plan.map(({ what }) => what.name));
    const explained = [
      ...(names.has("disk fault") ? ["^"] : []),
      // Over MQTT 3.1.1 a broker can refuse only by closing the connection; one that refuses may also be shut down.
      ...(names.has("broker refusing")
        ? [
            "^the broker refuses this topic",
            "the broker (closes the connection at every publish|closed .* soon after each connect|closed the connection after it refused)",
          ]
        : []),
      // After two sessions that broke with publishes in flight, the next sends one message at a time; where a third cut
      // meets one, that message counts as refused once, and is sent again.
      ...(plan.filter(({ what }) => what.name === "link cut").length >= CUTS_THAT_ACCUSE
        ? ['^the broker refuses this topic.*"reason":"unspecified"']
        : []),
      ...(env["BUFFER_MAX_MB"] === SMALLEST_MB ? ["^the buffer is full"] : []),
    ];
    this.#explained = new RegExp(explained.join("|") || "^$");
    this.#hopeless = new Promise((resolve) => {
      this.#giveUp = () => resolve(null);
    });
  }

  failed(what: string): void {
    this.#failures.push(what);
    if (this.#failures.length === this.#failuresMax) this.#giveUp();
  }

  async run(): Promise<Outcome> {
    const { drawn, rowsPath } = this.#options;
    const stage = await openStage(this.#world, {
      ...this.#options,
      onLine: (line) => this.#judgeLine(line),
      onFailure: (what) => this.failed(what),
    });
    const { agent, journal, main, cloud, platform, host } = stage;
    const checks = new Checks(stage, drawn.env, drawn.zone);
    const verdict = await Promise.race([this.#untilSettled(stage, checks), this.#hopeless]);
    journal.flush();
    if (rowsPath !== null) writeRows(agent.dataDir, rowsPath);
    this.#failures.push(...checks.failures, ...checks.finish(), ...(host?.faults ?? []));
    for (const { faults } of [main, cloud, platform.received]) this.#failures.push(...faults);
    this.#failures.push(...stage.commands.finish(String(drawn.env["MQTT_VERSION"])));
    this.#failures.push(...stage.documents.failures);
    return {
      seed: drawn.seed,
      failures: this.#failures,
      received: main.ids.size,
      dropped: verdict?.dropped ?? 0,
      events: checks.events.size,
      repeats: verdict?.repeats ?? 0,
      starts: agent.starts,
      happened: drawn.plan.length,
      virtualHours: this.#world.nowMs / HOUR_MS,
      digest: journal.digest(),
      tail: journal.tail,
    };
  }

  async #untilSettled(stage: Stage, checks: Checks): Promise<Verdict> {
    const { agent, simulator } = stage;
    const expectations = new Expectations(simulator, BACKFILL_DAYS);
    agent.start();
    const watching = this.#watch(checks);
    await this.#follow(stage);
    this.#heal(stage);
    const places = expectations.readable();
    const due = await this.#settled(stage, expectations, checks, places);
    // What is stored while it stops may stay pending, events too.
    watching.isOver = true;
    await agent.stop();
    checks.noteLastDerived();
    const { verdict, failures } = account(stage, { ...due, may: expectations.now().may }, checks);
    this.#failures.push(...failures);
    if (this.#options.drawn.mustGiveUpNothing && verdict.dropped > 0)
      this.#failures.push(`${verdict.dropped} readings were given up, and the gateway had them`);
    const unread = expectations.unread(places);
    if (unread.length > 0)
      this.#failures.push(`${unread.length} records were never read, e.g. ${unread.slice(0, 3)}`);
    return verdict;
  }

  #watch(checks: Checks): { isOver: boolean } {
    const state = { isOver: false };
    const look = () => {
      if (state.isOver) return;
      checks.look();
      if (checks.failures.size >= this.#failuresMax) this.#giveUp();
      this.#world.after(MINUTE_MS, look);
    };
    this.#world.after(MINUTE_MS, look);
    return state;
  }

  async #follow(stage: Stage): Promise<void> {
    const { drawn } = this.#options;
    const happening: Promise<void>[] = [];
    for (const { atMs, what } of drawn.plan) {
      await this.#world.sleep(Math.max(0, atMs - this.#world.nowMs));
      stage.journal.tell("seed", JSON.stringify(what));
      happening.push(happen(stage, what));
    }
    await this.#world.sleep(Math.max(0, drawn.hours * HOUR_MS - this.#world.nowMs));
    await Promise.all(happening);
  }

  #heal({ agent, simulator, journal }: Stage): void {
    journal.tell("seed", "everything heals");
    for (const { id, spec } of simulator.faults.list())
      if (spec.forMs !== undefined) simulator.faults.remove(id);
    simulator.clock.setOffset(0);
    agent.boxOffsetMs = 0;
    agent.start();
  }

  /** Waits until everything was read and delivered, or until it should have been. */
  async #settled(
    stage: Stage,
    expectations: Expectations,
    checks: Checks,
    places: readonly string[],
  ): Promise<Expectation> {
    await stage.documents.settle();
    stage.siteFile.restore();
    stage.agent.reload();
    const endMs = this.#world.nowMs + SETTLE_MS;
    // What has failed already needs no further wait.
    const mayWait = () =>
      this.#world.nowMs < endMs && this.#failures.length + checks.failures.size === 0;
    do await this.#world.sleep(CHECK_MS);
    while (mayWait() && expectations.unread(places).length > 0);
    const due = expectations.now();
    let least = Number.POSITIVE_INFINITY;
    let leastAtMs = this.#world.nowMs;
    const { stuckMs = STUCK_MS } = this.#options;
    while (mayWait() && this.#world.nowMs - leastAtMs < stuckMs) {
      const { failures } = account(stage, { ...due, may: expectations.now().may }, checks);
      if (failures.length === 0) break;
      if (failures.length < least) [least, leastAtMs] = [failures.length, this.#world.nowMs];
      stage.journal.tell("seed", `waits for ${failures.length}, e.g. ${failures[0]}`);
      await this.#world.sleep(CHECK_MS);
    }
    return due;
  }

  /** An error that none of the seed's faults explains. */
  #judgeLine({ level, message, text }: LogLine): void {
    if (level !== "error" || this.#explained.test(`${message} ${text}`)) return;
    this.failed(`logged ${text}`);
  }
}
