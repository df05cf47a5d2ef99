/** One seed from beginning to end: everything happens, everything heals, and then the account must be right. */
import { mkdirSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import Sqlite from "better-sqlite3";
import { cloudValues, cloudWants } from "../chaos/cloud-select.ts";
import { judge, missingWaveforms, ReportedGaps, type Verdict } from "../chaos/compare.ts";
import { came, type Judged, judgeUplink } from "../chaos/compare-uplinks.ts";
import { type Expectation, Expectations, type Wanted } from "../chaos/expectation.ts";
import { givenUpCount } from "../chaos/given-up.ts";
import type { LogLine } from "./agent-life.ts";
import { Checks } from "./checks.ts";
import { type Drawn, HOUR_MS, MINUTE_MS } from "./draw.ts";
import { happen } from "./happen.ts";
import type { Program } from "./program.ts";
import { openStage, type Stage } from "./stage.ts";
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
}

export interface Outcome {
  readonly seed: number;
  readonly failures: readonly string[];
  readonly verdict: Verdict;
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
const LOOK_MS = 5 * MINUTE_MS;
/** A trial that goes wrong again and again is given up. */
const FAILURES_MAX = 100;
/** A channel of a measurement each. */
const CHANNELS_MAX = 3;
const BACKFILL_DAYS = 3;

export async function runTrial(options: TrialOptions): Promise<Outcome> {
  mkdirSync(options.directory);
  const world = new World();
  const failures: string[] = [];
  let giveUp: (error: Error) => void = () => {};
  const hopeless = new Promise<never>((_, reject) => {
    giveUp = reject;
  });
  const failed = (what: string) => {
    failures.push(what);
    if (failures.length === FAILURES_MAX) giveUp(new Error(failures.slice(0, 5).join("\n")));
  };
  const onRejection = (error: unknown) => {
    if (!(error instanceof Error && error.name === "Died"))
      failed(`unhandled rejection: ${String(error)}`);
  };
  process.on("unhandledRejection", onRejection);
  try {
    return await world.run(
      Promise.race([new Trial(world, options, failures, failed).run(), hopeless]),
    );
  } finally {
    process.off("unhandledRejection", onRejection);
    rmSync(options.directory, { recursive: true, force: true });
  }
}

class Trial {
  readonly #world: World;
  readonly #options: TrialOptions;
  readonly #failures: string[];
  readonly #failed: (what: string) => void;
  readonly #isDiskFaulty: boolean;

  constructor(
    world: World,
    options: TrialOptions,
    failures: string[],
    failed: (what: string) => void,
  ) {
    this.#failed = failed;
    this.#world = world;
    this.#options = options;
    this.#failures = failures;
    this.#isDiskFaulty = options.drawn.plan.some(({ what }) => what.name === "disk fault");
  }

  async run(): Promise<Outcome> {
    const { drawn } = this.#options;
    const stage = await openStage(this.#world, {
      ...this.#options,
      onLine: (line) => this.#judgeLine(line),
      onFailure: this.#failed,
    });
    const { agent, journal, simulator } = stage;
    const checks = new Checks(stage, Number(drawn.env["BUFFER_MAX_MB"]));
    const expectations = new Expectations(simulator, BACKFILL_DAYS);
    agent.start();
    const watching = this.#watch(checks);
    await this.#follow(stage);
    this.#heal(stage);
    const places = expectations.readable();
    const due = await this.#settled(stage, expectations, checks, places);
    await agent.stop();
    checks.look();
    watching.isOver = true;
    const { may } = expectations.now();
    const account = this.#account(stage, { ...due, may }, checks);
    const unread = expectations.unread(places).length;
    journal.flush();
    if (this.#options.rowsPath !== null) writeRows(agent.dataDir, this.#options.rowsPath);
    this.#failures.push(
      ...checks.failures,
      ...account.failures,
      ...stage.main.faults,
      ...stage.cloud.faults,
    );
    this.#failures.push(...(stage.host?.faults ?? []));
    if (unread > 0) this.#failures.push(`${unread} records were never read`);
    return {
      seed: drawn.seed,
      failures: this.#failures,
      verdict: account.verdict,
      events: checks.events.size,
      repeats: account.verdict.repeats,
      starts: agent.starts,
      happened: drawn.plan.length,
      virtualHours: this.#world.nowMs / HOUR_MS,
      digest: journal.digest(),
      tail: journal.tail,
    };
  }

  #watch(checks: Checks): { isOver: boolean } {
    const state = { isOver: false };
    const look = () => {
      if (state.isOver) return;
      checks.look();
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
    stage.siteFile.restore();
    stage.agent.reload();
    const endMs = this.#world.nowMs + SETTLE_MS;
    do await this.#world.sleep(LOOK_MS);
    while (this.#world.nowMs < endMs && expectations.unread(places).length > 0);
    const due = expectations.now();
    while (this.#world.nowMs < endMs) {
      const { failures } = this.#account(stage, { ...due, may: expectations.now().may }, checks);
      if (failures.length === 0) break;
      stage.journal.tell("seed", `waits for ${failures.length}, e.g. ${failures[0]}`);
      await this.#world.sleep(LOOK_MS);
    }
    return due;
  }

  #account(
    stage: Stage,
    expectation: Expectation,
    checks: Checks,
  ): { verdict: Verdict; failures: string[] } {
    const { main, cloud, host, agent, brokers } = stage;
    const stored = storedIds(agent.dataDir);
    const verdict = judge(expectation, { recorder: main, host: null, stored });
    const gaps = [...main.gaps, ...cloud.gaps];
    const further: Judged[] = [];
    if (brokers.has("cloud"))
      further.push({
        uplink: "cloud",
        expected: ({ sensor, kind }, values) =>
          cloudWants(sensor, kind) ? cloudValues(values) : null,
        has: came(cloud),
        recorder: cloud,
      });
    if (host !== null)
      further.push({
        uplink: "scada",
        expected: (_, values) => values,
        has: (_, wanted, values) => host.hasReading(wanted, values) || null,
        recorder: null,
      });
    const uplinks = further.map((one) => judgeUplink(one, expectation, main, gaps, stored));
    const failures = [verdict, ...uplinks].flatMap(({ lost, invented, doubled }) => [
      ...lost.map((text) => `lost: ${text}`),
      ...invented.map((text) => `invented: ${text}`),
      ...doubled.map((text) => `doubled: ${text}`),
    ]);
    failures.push(...this.#lostEvents(stage, checks), ...this.#lostWaveforms(stage, expectation));
    return { verdict, failures };
  }

  /** Each event arrived or is counted in a gap. */
  #lostEvents({ main }: Stage, { events }: Checks): string[] {
    const missing = new Map<string, Wanted>();
    for (const [id, event] of events)
      if (!main.events.has(id)) missing.set(id, { ...event, kind: "event", channels: [] });
    const gaps = new ReportedGaps(
      [...main.gaps].filter(({ uplink = "main" }) => uplink === "main"),
    );
    return [...gaps.take(missing)].map(([id, { sensor }]) => `lost: event ${id} of ${sensor}`);
  }

  #lostWaveforms({ main, agent }: Stage, { must }: Expectation): string[] {
    if (this.#options.drawn.env["PUBLISH_WAVEFORMS"] !== "always") return [];
    const missing = missingWaveforms({ must }, { recorder: main, host: null });
    const isGivenUp = missing.length <= givenUpCount(agent.dataDir) * CHANNELS_MAX;
    return isGivenUp ? [] : missing.map((text) => `lost: ${text}`);
  }

  /** An error that none of the seed's faults explains. */
  #judgeLine({ level, text }: LogLine): void {
    if (level !== "error" || this.#isDiskFaulty) return;
    this.#failed(`logged ${text}`);
  }
}

function storedIds(dataDir: string): Set<string> {
  const db = new Sqlite(join(dataDir, "gateside.db"), { readonly: true });
  try {
    const sql = `SELECT lower(hex(r.id)) FROM readings r JOIN streams s USING (stream) WHERE s.kind NOT IN ('event', 'node')`;
    return new Set(db.prepare<[], string>(sql).pluck().all());
  } finally {
    db.close();
  }
}

function writeRows(dataDir: string, path: string): void {
  const db = new Sqlite(join(dataDir, "gateside.db"), { readonly: true });
  try {
    const sql = `SELECT json_array(s.sensor, s.kind, r.time_ms, lower(hex(r.id)), r.is_future, r.quality, r.attributes, r.raw)
      FROM readings r JOIN streams s USING (stream) ORDER BY s.sensor, s.kind, r.time_ms, r.id`;
    writeFileSync(path, db.prepare<[], string>(sql).pluck().all().join("\n"));
  } finally {
    db.close();
  }
}
