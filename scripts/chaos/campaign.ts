/** One seed: a site, the built agent, everything that happens to them, and the reckoning. */
import { execFile } from "node:child_process";
import { existsSync, statfsSync, unlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { promisify } from "node:util";
import { AgentKeeper } from "./agent-keeper.ts";
import { judge, missingWaveforms, storedIds, type Verdict } from "./compare.ts";
import { DirectoryWatch } from "./directory-watch.ts";
import {
  type ChaosEvent,
  type EventName,
  PART_OF,
  type Part,
  type Planned,
  planCampaign,
} from "./events.ts";
import { type Expectation, Expectations } from "./expectation.ts";
import { givenUpCount } from "./given-up.ts";
import { SeededRandom } from "./random.ts";
import { openSite, type Site } from "./site.ts";
import { until, within } from "./within.ts";
import type { Workplace } from "./workplace.ts";

export interface CampaignOptions {
  readonly seed: number;
  readonly lengthMs: number;
  readonly formats: readonly string[];
  /** Leaves the directory behind, and a copy of the store in it. */
  readonly keep: boolean;
  readonly log: (line: string) => void;
  /** Rejects when the campaign is called off. */
  readonly calledOff: Promise<never>;
}
export interface CampaignResult extends Verdict {
  readonly seed: number;
  readonly formats: readonly string[];
  readonly events: ReadonlyMap<EventName, number>;
  /** Everything else that must not be: a live topic that went back, an agent that ended by itself, a row stored twice. */
  readonly faults: readonly string[];
  readonly seconds: number;
}

/** Pauses of the agent are slept in its own time, so a plant that runs faster is read more rarely than its cadence asks. */
const SPEED = 20;
const HOUR_MS = 3_600_000;
/** Of past days, so that whatever was shown can be read again to the end, also in a campaign of hours. */
const BACKFILL_DAYS_MIN = 3;
/** Without anything new for so long, nothing more is hoped for. */
const SETTLE_MS = 40_000;
/** After all has healed every day that is due is read within this time. */
const READ_MS = 60_000;
/** No seed takes longer beyond its length, whatever hangs. */
const OVERTIME_MS = 600_000;
/** The agent's first start, also on a busy machine and through libfaketime. */
const FIRST_START_MS = 20_000;
/** A measurement is given up as one. */
const CHANNELS_MAX = 3;
const OWN_VIEW_MS = 5000;
/** Faults of records stay to the end; more of them would leave few records as they were. */
const ODD_RECORDS_MAX = 24;

const RUN = promisify(execFile);

export async function runCampaign(
  place: Workplace,
  options: CampaignOptions,
): Promise<CampaignResult> {
  const random = new SeededRandom(options.seed);
  const { seed, formats, keep, lengthMs } = options;
  const plantDays = (lengthMs * SPEED) / (24 * HOUR_MS);
  const backfillDays = BACKFILL_DAYS_MIN + Math.ceil(plantDays);
  const site = await openSite(place, { seed, formats, keep, speed: SPEED, backfillDays }, random);
  const keeper = new AgentKeeper(site.env, site.directory, place.program);
  try {
    const campaign = new Campaign(place, options, site, keeper, backfillDays);
    const run = Promise.race([campaign.run(random), options.calledOff]);
    return await within(run, lengthMs + OVERTIME_MS, `seed ${seed}`);
  } finally {
    await keeper.close();
    await site.close();
  }
}

class Campaign {
  readonly #place: Workplace;
  readonly #options: CampaignOptions;
  readonly #site: Site;
  readonly #keeper: AgentKeeper;
  readonly #expectations: Expectations;
  readonly #watch: DirectoryWatch;
  readonly #events = new Map<EventName, number>();
  readonly #busy = new Set<Part>();

  constructor(
    place: Workplace,
    options: CampaignOptions,
    site: Site,
    keeper: AgentKeeper,
    backfillDays: number,
  ) {
    this.#place = place;
    this.#options = options;
    this.#site = site;
    this.#keeper = keeper;
    this.#expectations = new Expectations(site.simulator, backfillDays);
    this.#watch = new DirectoryWatch(site.dataDir, Number(site.env["BUFFER_MAX_MB"]));
  }

  async run(random: SeededRandom): Promise<CampaignResult> {
    const startedAt = Date.now();
    const { seed, lengthMs, formats, log } = this.#options;
    const { simulator, recorder, host } = this.#site;
    const codes = simulator.plant.sensors.map(({ code }) => code);
    const plan = planCampaign(random, lengthMs, codes, this.#possible());
    const {
      GATEWAY_TIMEZONE: zone,
      MQTT_VERSION: version,
      MQTT_INFLIGHT: inflight,
    } = this.#site.env;
    log(`seed ${seed}: ${zone}, MQTT ${version}, window ${inflight}`);
    this.#watch.start();
    this.#keeper.start();
    await this.#follow(plan, startedAt);
    await this.#heal();
    const unread = await this.#allRead();
    const { must, gone } = await this.#settled();
    await this.#keeper.stop();
    this.#watch.stop();
    const { ids: stored, twice } = await this.#export();
    const expectation = { ...this.#expectations.now(), must, gone };
    const verdict = judge(expectation, { recorder, host, stored });
    for (const { sensor, kind, from, to, count, reason } of recorder.gaps) {
      log(`gap: ${sensor} ${kind} ${from} to ${to}, ${count} for ${reason}`);
    }
    const faults = [
      ...this.#keeper.faults,
      ...recorder.faults,
      ...(host?.faults ?? []),
      ...this.#watch.faults,
      ...[...twice].map((id) => `${id} is stored twice`),
    ];
    const seconds = Math.round((Date.now() - startedAt) / 1000);
    const waveforms = this.#lacksWaveforms({ must })
      ? missingWaveforms({ must }, { recorder, host })
      : [];
    const lost = [
      ...verdict.lost,
      ...waveforms,
      ...unread.map((place) => `${place} was never read`),
    ];
    return { seed, formats, ...verdict, lost, events: this.#events, faults, seconds };
  }

  #possible(): Set<EventName> {
    const names = new Set(Object.keys(PART_OF) as EventName[]);
    if (!this.#place.smallDisk) names.delete("disk full");
    if (!this.#place.fakeTimeLibrary) names.delete("box clock set");
    if (!this.#site.host) names.delete("host offline");
    return names;
  }

  async #follow(plan: readonly Planned[], startedAt: number): Promise<void> {
    const running: Promise<void>[] = [];
    for (const { atMs, event } of plan) {
      await sleep(Math.max(0, startedAt + atMs - Date.now()));
      const part = PART_OF[event.name];
      const count = this.#events.get(event.name) ?? 0;
      if (this.#busy.has(part)) continue;
      if (event.name === "odd records" && count >= ODD_RECORDS_MAX) continue;
      this.#busy.add(part);
      this.#events.set(event.name, count + 1);
      this.#options.log(`${String(atMs).padStart(6)} ms  ${JSON.stringify(event)}`);
      const happening = this.#happen(event).finally(() => this.#busy.delete(part));
      // Whoever awaits them all sees the reason.
      happening.catch(() => {});
      running.push(happening);
    }
    await Promise.all(running);
  }

  async #happen(event: ChaosEvent): Promise<void> {
    const { broker, relay, simulator, host, clockFile } = this.#site;
    switch (event.name) {
      case "agent killed":
        await this.#keeper.kill();
        await sleep(event.forMs);
        return this.#keeper.start();
      case "agent stopped":
        await this.#keeper.stop();
        await sleep(event.forMs);
        return this.#keeper.start();
      case "broker killed":
        return this.#killBroker(event.forMs);
      case "broker frozen":
        broker.freeze();
        await sleep(event.forMs);
        return broker.thaw();
      case "link silent":
        relay.silence();
        await sleep(event.forMs);
        return relay.heal();
      case "link reset":
        return relay.reset();
      case "gateway fault":
        simulator.faults.add(event.fault);
        await sleep(event.forMs);
        return;
      case "odd records":
        simulator.faults.add(event.fault);
        return;
      case "gateway clock set":
        simulator.clock.setOffset(event.offsetMs);
        await sleep(event.forMs);
        return simulator.clock.setOffset(0);
      case "disk full":
        return this.#fillDisk(event.forMs);
      case "box clock set":
        return writeFileSync(
          clockFile,
          event.offsetS < 0 ? `${event.offsetS}` : `+${event.offsetS}`,
        );
      case "host offline":
        host?.leave(event.isAbrupt);
        await sleep(event.forMs);
        return host?.comeBack();
    }
  }

  /** The agent reaches the new broker only once the recorder listens: what it delivers must be seen. */
  async #killBroker(forMs: number): Promise<void> {
    const { broker, relay, recorder } = this.#site;
    relay.shut();
    await broker.kill();
    await recorder.lost();
    await sleep(forMs);
    await broker.restart();
    await recorder.ready();
    relay.open();
  }

  async #fillDisk(forMs: number): Promise<void> {
    const { dataDir } = this.#site;
    // An agent that never had room to begin with can do nothing but say so.
    await until(() => existsSync(join(dataDir, "gateside.db")), FIRST_START_MS);
    const filler = join(dataDir, "filler");
    const { bavail, bsize } = statfsSync(dataDir);
    try {
      writeFileSync(filler, Buffer.alloc(bavail * bsize));
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== "ENOSPC") throw error;
    }
    await sleep(forMs);
    unlinkSync(filler);
  }

  /** Everything is well again; an agent that waits out a long pause after a refusal is started afresh. */
  async #heal(): Promise<void> {
    const { clock, faults } = this.#site.simulator;
    // What is owed must drain on a slow machine, too: new readings have the right of way.
    clock.setSpeed(1);
    for (const { id, spec } of faults.list()) {
      const isPassing = spec.forMs !== undefined;
      if (isPassing) faults.remove(id);
    }
    await sleep(300);
    await this.#keeper.stop();
    this.#keeper.start();
  }

  /** Everything that the gateway has by now is read; answers what nobody read. */
  async #allRead(): Promise<string[]> {
    const places = this.#expectations.readable();
    const deadline = Date.now() + READ_MS;
    for (;;) {
      const unread = this.#expectations.unread(places);
      if (unread.length === 0 || Date.now() > deadline) return unread;
      await sleep(1000);
    }
  }

  /** Waits until everything due has come, or nothing more can be hoped for; answers what was due. */
  async #settled(): Promise<Pick<Expectation, "must" | "gone">> {
    const { recorder, host } = this.#site;
    const expectation = this.#expectations.now();
    let deadline = Date.now() + SETTLE_MS;
    let missingBefore = Number.POSITIVE_INFINITY;
    for (;;) {
      let verdict = judge(expectation, { recorder, host, stored: null });
      // What a gap record seems to tell may be on its way: whatever the store still holds must come.
      if (verdict.lost.length === 0 && verdict.givenUp + verdict.takenBack > 0) {
        verdict = judge(expectation, { recorder, host, stored: (await this.#export()).ids });
      }
      const waveforms = missingWaveforms(expectation, { recorder, host }).length;
      const isDone = verdict.lost.length === 0 && !this.#lacksWaveforms(expectation);
      if (isDone) return expectation;
      if (Date.now() > deadline) {
        this.#options.log(`the agent's own view: ${await this.#ownView()}`);
        return expectation;
      }
      const missing = verdict.lost.length + waveforms;
      if (missing < missingBefore) deadline = Date.now() + SETTLE_MS;
      missingBefore = missing;
      await sleep(1000);
    }
  }

  /** More waveforms are missing than the store says it gave up, by themselves or with their readings. */
  #lacksWaveforms(expectation: Pick<Expectation, "must">): boolean {
    const { recorder, host, dataDir } = this.#site;
    const missing = missingWaveforms(expectation, { recorder, host });
    if (missing.length === 0) return false;
    return missing.length > givenUpCount(dataDir) * CHANNELS_MAX;
  }

  async #ownView(): Promise<string> {
    try {
      const url = `http://127.0.0.1:${this.#site.env["HTTP_PORT"]}/api/v1/status`;
      const answer = await fetch(url, { signal: AbortSignal.timeout(OWN_VIEW_MS) });
      const { buffer, links, gateway }: Record<string, unknown> = JSON.parse(await answer.text());
      return JSON.stringify({ buffer, links, gateway });
    } catch (error) {
      return String(error);
    }
  }

  /** The ids that the store holds, and those it holds twice. */
  async #export(): Promise<ReturnType<typeof storedIds>> {
    const { env, directory } = this.#site;
    const span = ["--from", "1999-01-01", "--to", "2120-01-01"];
    const { stdout } = await RUN(
      process.execPath,
      [this.#place.program, "export", ...span, "--format", "jsonl"],
      { env: { ...env, LD_PRELOAD: "" }, cwd: directory, maxBuffer: 1e9 },
    );
    return storedIds(stdout);
  }
}
