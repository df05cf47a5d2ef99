/** One seed: a site, the built agent, everything that happens to them, and the final comparison. */
import { existsSync, statfsSync, unlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { AgentKeeper } from "./agent-keeper.ts";
import { judge, missingWaveforms, type Verdict } from "./compare.ts";
import type { UplinkVerdict } from "./compare-uplinks.ts";
import { DirectoryWatch } from "./directory-watch.ts";
import {
  type ChaosEvent,
  type EventName,
  PART_OF,
  type Part,
  type Planned,
  planCampaign,
  planUplinkEvents,
} from "./events.ts";
import { Expectations } from "./expectation.ts";
import type { FarName } from "./far-sides.ts";
import { SeededRandom } from "./random.ts";
import { Reckoning } from "./reckoning.ts";
import { openSite, type Site } from "./site.ts";
import { until, within } from "./within.ts";
import type { Workplace } from "./workplace.ts";

export interface CampaignOptions {
  readonly seed: number;
  readonly lengthMs: number;
  readonly formats: readonly string[];
  /** Three uplinks besides `main`, and files that change. */
  readonly uplinks: boolean;
  /** One of them is unreachable for this many days of the plant; 0: none. */
  readonly darkDays: number;
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
  /** Those besides `main`, whose numbers are above. */
  readonly uplinks: readonly UplinkVerdict[];
  /** Transitions of alarms, and how many of them `main` received. */
  readonly alarms: { readonly stored: number; readonly received: number };
  /** The one that was unreachable. */
  readonly dark: FarName | null;
  /** Everything else that must not happen: a live topic that moved back, an agent that ended by itself, a row stored twice. */
  readonly faults: readonly string[];
  readonly seconds: number;
}

/** The agent's pauses take real time, so a plant that runs faster is read less often than its cadence requires. */
const SPEED = 20;
const HOUR_MS = 3_600_000;
/** Days to read back, so that everything shown can be read again until the end, even in a campaign of hours. */
const BACKFILL_DAYS_MIN = 3;
/** Once everything has recovered, every due day is read; the campaign gives up after this time without progress. */
const READ_MS = 60_000;
/** No seed exceeds its length by more than this, even if something hangs. */
const OVERTIME_MS = 400_000;
/** For the agent's first start, even on a busy machine and through libfaketime. */
const FIRST_START_MS = 20_000;
const DAY_MS = 24 * HOUR_MS;
/** So that days of the plant that pass in a minute have no more records than the hours of other campaigns. */
const DARK_CADENCE_S = 1200;
/** A reload is applied within this time. */
const RELOAD_MS = 30_000;
/** Faults of records stay until the end; more of them would leave few records intact. */
const ODD_RECORDS_MAX = 24;

export async function runCampaign(
  place: Workplace,
  options: CampaignOptions,
): Promise<CampaignResult> {
  const random = new SeededRandom(options.seed);
  const { seed, formats, keep, lengthMs, darkDays } = options;
  const speed = darkDays === 0 ? SPEED : Math.ceil((darkDays * DAY_MS) / lengthMs);
  const plantDays = (lengthMs * speed) / DAY_MS;
  const backfillDays = BACKFILL_DAYS_MIN + Math.ceil(plantDays);
  const cadenceS = darkDays === 0 ? null : DARK_CADENCE_S;
  const given = { seed, formats, keep, speed, backfillDays, cadenceS };
  const site = await openSite(place, { ...given, hasFarSides: options.uplinks }, random);
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
  readonly #reckoning: Reckoning;
  readonly #watch: DirectoryWatch;
  readonly #events = new Map<EventName, number>();
  readonly #busy = new Set<Part>();
  readonly #dark: FarName | null;
  readonly #reloadFaults: string[] = [];

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
    this.#reckoning = new Reckoning(site, place.program, this.#expectations, options.log);
    this.#watch = new DirectoryWatch(site.dataDir, Number(site.env["BUFFER_MAX_MB"]));
    this.#dark = options.darkDays === 0 ? null : options.seed % 2 === 0 ? "cloud" : "scada";
  }

  async run(random: SeededRandom): Promise<CampaignResult> {
    const startedAt = Date.now();
    const { seed, lengthMs, formats, log } = this.#options;
    const { simulator, recorder, host } = this.#site;
    const codes = simulator.plant.sensors.map(({ code }) => code);
    const plan = [
      ...planCampaign(random, lengthMs, codes, this.#possible()),
      ...(this.#site.far === null ? [] : planUplinkEvents(seed, lengthMs)),
    ].toSorted((a, b) => a.atMs - b.atMs);
    const {
      GATEWAY_TIMEZONE: zone,
      MQTT_VERSION: version,
      MQTT_INFLIGHT: inflight,
    } = this.#site.env;
    log(`seed ${seed}: ${zone}, MQTT ${version}, window ${inflight}`);
    this.#watch.start();
    if (this.#dark !== null) this.#site.far?.darken(this.#dark);
    this.#keeper.start();
    await this.#follow(plan, startedAt);
    log("healing");
    await this.#heal();
    log("reading what is left");
    const unread = await this.#allRead();
    const { must, gone } = await this.#reckoning.settled();
    await this.#keeper.stop();
    this.#watch.stop();
    const { ids: stored, twice } = await this.#reckoning.export();
    const expectation = { ...this.#expectations.now(), must, gone };
    const verdict = judge(expectation, { recorder, host, stored });
    const uplinks = this.#reckoning.judgeFar(expectation, stored);
    const alarms = this.#reckoning.judgeAlarms(expectation);
    for (const { sensor, kind, from, to, count, reason, uplink } of this.#reckoning.gaps()) {
      log(`gap: ${sensor} ${kind} ${from} to ${to}, ${count} for ${reason} of ${uplink}`);
    }
    const faults = [
      ...this.#keeper.faults,
      ...recorder.faults,
      ...(host?.faults ?? []),
      ...this.#reckoning.farFaults(),
      ...this.#reloadFaults,
      ...this.#watch.faults,
      ...[...twice].map((id) => `${id} is stored twice`),
    ];
    const seconds = Math.round((Date.now() - startedAt) / 1000);
    const waveforms = this.#reckoning.lacksWaveforms({ must })
      ? missingWaveforms({ must }, { recorder, host })
      : [];
    const lost = [
      ...verdict.lost,
      ...waveforms,
      ...unread.map((place) => `${place} was never read`),
      ...[...uplinks, ...alarms].flatMap((one) => one.lost),
    ];
    const invented = [
      ...verdict.invented,
      ...[...uplinks, ...alarms].flatMap((one) => one.invented),
    ];
    const doubled = [...verdict.doubled, ...[...uplinks, ...alarms].flatMap((one) => one.doubled)];
    const [ofMain = { stored: 0, received: 0 }] = alarms;
    const judged = { ...verdict, lost, invented, doubled, uplinks, alarms: ofMain };
    return { seed, formats, ...judged, events: this.#events, faults, seconds, dark: this.#dark };
  }

  #possible(): Set<EventName> {
    const names = new Set(Object.keys(PART_OF) as EventName[]);
    if (!this.#place.smallDisk) names.delete("disk full");
    if (!this.#place.fakeTimeLibrary) names.delete("box clock set");
    if (!this.#site.host && !this.#site.far) names.delete("host offline");
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
      // Whoever awaits all of them gets the error.
      happening.catch(() => {});
      running.push(happening);
    }
    await Promise.all(running);
  }

  async #happen(event: ChaosEvent): Promise<void> {
    const { broker, relay, simulator, clockFile, far } = this.#site;
    const host = far?.host ?? this.#site.host;
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
      case "site file changes": {
        const random = new SeededRandom(event.draw);
        for (const change of event.changes) this.#site.siteFile.change(change, random);
        await this.#keeper.hangUp();
        return;
      }
      case "uplinks change":
        if (event.uplink === "visitor") far?.toggleVisitor();
        else far?.changeCloud();
        await this.#keeper.hangUp();
        if (event.killAfterMs === null) return;
        await sleep(event.killAfterMs);
        await this.#keeper.kill();
        return this.#keeper.start();
      case "other uplink fault":
        if (event.uplink !== this.#dark) await far?.fault(event.uplink, event.what, event.forMs);
        return;
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
    // An agent that never had enough disk space can only report that.
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

  /** Ends all faults; an agent in a long pause after a refusal is restarted. */
  async #heal(): Promise<void> {
    const { clock, faults } = this.#site.simulator;
    // The backlog must drain on a slow machine too, and new readings go first.
    clock.setSpeed(1);
    for (const { id, spec } of faults.list()) {
      const isPassing = spec.forMs !== undefined;
      if (isPassing) faults.remove(id);
    }
    await sleep(300);
    await this.#keeper.stop();
    this.#keeper.start();
    await this.#restoreFiles();
  }

  /** By a reload, not by a restart: what it adds is read and delivered nevertheless. */
  async #restoreFiles(): Promise<void> {
    const { far, siteFile, simulator } = this.#site;
    if (far === null) return;
    if (this.#dark !== null) far.brighten(this.#dark);
    siteFile.restore();
    far.restore();
    if (!(await this.#keeper.hangUp())) this.#reloadFaults.push("no agent to be reloaded");
    const { length } = simulator.plant.sensors;
    const deadline = Date.now() + RELOAD_MS;
    for (;;) {
      const { sensors = [], links = [], configurationFaults = [] } = await this.#reckoning.status();
      const isApplied = sensors.length === length && links.length === 4;
      if (isApplied && configurationFaults.length === 0) return;
      if (Date.now() > deadline) {
        this.#reloadFaults.push(
          `after the reload: ${sensors.length} sensors, ${links.length} links, ${configurationFaults.join()}`,
        );
        return;
      }
      await sleep(200);
    }
  }

  /** Reads everything that the gateway has so far; returns what was not read. */
  async #allRead(): Promise<string[]> {
    const places = this.#expectations.readable();
    let deadline = Date.now() + READ_MS;
    let least = Number.POSITIVE_INFINITY;
    for (;;) {
      const unread = this.#expectations.unread(places);
      if (unread.length === 0 || Date.now() > deadline) return unread;
      // On a busy machine it may take longer as long as there is progress.
      if (unread.length < least) deadline = Date.now() + READ_MS;
      least = Math.min(least, unread.length);
      await sleep(1000);
    }
  }
}
