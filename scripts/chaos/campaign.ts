/** One seed: a plant, a broker, a recorder and the built agent, and everything that happens to them. */
import { execFile } from "node:child_process";
import { cpSync, mkdtempSync, rmSync, statfsSync, unlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { promisify } from "node:util";
import { type Simulator, startSimulator } from "../../src/simulator/server.ts";
import { StrictHost } from "../../test/publish/sparkplug/strict-host.ts";
import { type Mosquitto, startMosquitto } from "../../test/support/mosquitto.ts";
import { type BuiltAgent, spawnAgent } from "../../test/support/plant.ts";
import { expectationOf, judge, storedIds, type Verdict } from "./compare.ts";
import {
  type ChaosEvent,
  type EventName,
  PART_OF,
  type Part,
  type Planned,
  planCampaign,
} from "./events.ts";
import { SeededRandom } from "./random.ts";
import { Recorder } from "./recorder.ts";
import { Relay } from "./relay.ts";

export interface Workplace {
  /** The bundle under test. */
  readonly program: string;
  /** Mounts a file system of so many MB at a path; null where that is not allowed. */
  readonly smallDisk: { mount(path: string): void; unmount(path: string): void } | null;
  /** libfaketime, where it is installed. */
  readonly fakeTimeLibrary: string | null;
}
export interface CampaignOptions {
  readonly seed: number;
  readonly lengthMs: number;
  readonly formats: readonly string[];
  /** Leaves the directory behind, and a copy of the store in it. */
  readonly keep: boolean;
  readonly log: (line: string) => void;
}
export interface CampaignResult extends Verdict {
  readonly seed: number;
  readonly events: ReadonlyMap<EventName, number>;
  /** Everything else that must not be: a live topic that went back, an agent that ended by itself, a row stored twice. */
  readonly faults: readonly string[];
  readonly seconds: number;
}

/** Pauses of the agent are slept in its own time, so a plant that runs faster is read more rarely than its cadence asks. */
const SPEED = 20;
const BACKFILL_DAYS = 3;
/** Without anything new for so long, nothing more is hoped for. */
const SETTLE_MS = 40_000;
const STOP_LIMIT_MS = 10_000;
/** Places and nights: a midnight or a change of the clocks lies a few minutes ahead. */
const NIGHTS = [
  ["UTC", "2026-05-12T23:56:00Z"],
  ["Europe/Berlin", "2026-03-28T22:56:00Z"],
  ["Europe/Berlin", "2026-10-25T00:56:00Z"],
  ["America/New_York", "2026-03-08T06:56:00Z"],
  ["Asia/Kathmandu", "2026-06-01T18:11:00Z"],
  ["Pacific/Chatham", "2026-04-04T10:11:00Z"],
  ["America/St_Johns", "2026-11-01T02:26:00Z"],
] as const;

const RUN = promisify(execFile);

export async function runCampaign(
  place: Workplace,
  options: CampaignOptions,
): Promise<CampaignResult> {
  const campaign = new Campaign(place, options);
  try {
    await campaign.open();
    return await campaign.run();
  } finally {
    await campaign.close();
  }
}

class Campaign {
  readonly #place: Workplace;
  readonly #options: CampaignOptions;
  readonly #random: SeededRandom;
  readonly #directory = mkdtempSync(join(tmpdir(), "gateside-chaos-"));
  readonly #events = new Map<EventName, number>();
  readonly #busy = new Set<Part>();
  readonly #faults: string[] = [];
  readonly #zone: string;
  readonly #startMs: number;
  #simulator!: Simulator;
  #broker!: Mosquitto;
  #relay!: Relay;
  #recorder!: Recorder;
  #host: StrictHost | null = null;
  #agent: BuiltAgent | null = null;
  #env: Record<string, string> = {};
  #isMounted = false;

  constructor(place: Workplace, options: CampaignOptions) {
    this.#place = place;
    this.#options = options;
    this.#random = new SeededRandom(options.seed);
    const [zone, start] = this.#random.pick(NIGHTS);
    this.#zone = zone;
    this.#startMs = Date.parse(start);
  }

  get #dataDir(): string {
    return join(this.#directory, "data");
  }
  get #clockFile(): string {
    return join(this.#directory, "clock");
  }
  get #hasSparkplug(): boolean {
    return this.#options.formats.includes("sparkplug");
  }

  async open(): Promise<void> {
    const { seed, formats } = this.#options;
    const cadence = this.#random.pick([30, 40, 60]);
    this.#simulator = await startSimulator({
      seed,
      sensors: 14,
      zone: this.#zone,
      startMs: this.#startMs,
      speed: SPEED,
      historyDays: 0.15,
      cadenceS: {
        accel: 20,
        current: cadence,
        currentV2: cadence,
        accCurrent: cadence,
        loop: 20,
        dryContact: cadence,
        rpm: 30,
      },
      waveform: { sampleRateHz: 6400, samples: 256 },
    });
    this.#broker = await startMosquitto();
    this.#relay = new Relay(this.#broker.port);
    await this.#relay.listen();
    this.#recorder = new Recorder(this.#broker.url);
    await this.#recorder.ready();
    if (this.#hasSparkplug) this.#host = new StrictHost(this.#broker.url, "scada");
    if (this.#place.smallDisk) {
      this.#place.smallDisk.mount(this.#dataDir);
      this.#isMounted = true;
    }
    writeFileSync(this.#clockFile, "+0");
    writeFileSync(
      join(this.#directory, "site.json"),
      JSON.stringify(this.#simulator.siteFile("plant")),
    );
    this.#env = {
      GATEWAY_URL: this.#simulator.url,
      GATEWAY_TIMEZONE: this.#zone,
      GATEWAY_TIMEOUT_MS: "1500",
      MQTT_URL: this.#relay.url,
      MQTT_VERSION: String(this.#random.pick([4, 5, 5])),
      MQTT_INFLIGHT: String(this.#random.pick([1, 10, 100, 500])),
      PUBLISH_FORMATS: formats.join(","),
      PUBLISH_RAW: "true",
      PUBLISH_WAVEFORMS: "always",
      SPARKPLUG_GROUP_ID: "plant",
      ...(this.#hasSparkplug ? { SPARKPLUG_HOST_ID: "scada" } : {}),
      SITE_FILE: join(this.#directory, "site.json"),
      DATA_DIR: this.#dataDir,
      HTTP_PORT: "off",
      POLL_INTERVAL_S: "1",
      BACKFILL_DAYS: String(BACKFILL_DAYS),
      BUFFER_MAX_MB: "24",
      DISK_FREE_MIN_MB: "0",
      LOG_LEVEL: "error",
      ...(this.#place.fakeTimeLibrary
        ? {
            LD_PRELOAD: this.#place.fakeTimeLibrary,
            FAKETIME_TIMESTAMP_FILE: this.#clockFile,
            FAKETIME_NO_CACHE: "1",
            FAKETIME_DONT_FAKE_MONOTONIC: "1",
            NO_FAKE_STAT: "1",
          }
        : {}),
    };
  }

  async run(): Promise<CampaignResult> {
    const startedAt = Date.now();
    const { seed, lengthMs } = this.#options;
    const codes = this.#simulator.plant.sensors.map(({ code }) => code);
    const plan = planCampaign(this.#random, lengthMs, codes, this.#possible());
    this.#startAgent();
    await this.#follow(plan, startedAt);
    await this.#heal();
    const verdict = await this.#settled();
    await this.#stopAgent();
    const stored = await this.#checkStore();
    if (this.#host) this.#faults.push(...this.#host.faults);
    this.#faults.push(...this.#recorder.faults);
    const seconds = Math.round((Date.now() - startedAt) / 1000);
    const lost = verdict.lost.map((text) => {
      const isStored = stored.has(text.split(" ")[0] ?? "");
      return `${text} (${isStored ? "stored" : "not stored"})`;
    });
    return { seed, ...verdict, lost, events: this.#events, faults: this.#faults, seconds };
  }

  #possible(): Set<EventName> {
    const names = new Set(Object.keys(PART_OF) as EventName[]);
    if (!this.#place.smallDisk) names.delete("disk full");
    if (!this.#place.fakeTimeLibrary) names.delete("box clock set");
    return names;
  }

  #startAgent(): void {
    const agent = spawnAgent(this.#env, this.#directory, this.#place.program);
    this.#agent = agent;
    void agent.ended.then((how) => {
      if (this.#agent !== agent) return;
      // Nobody asked it to; systemd would start it again, and so do we, but it counts.
      this.#faults.push(
        `the agent ended by itself: ${how} ${JSON.stringify(agent.log.at(-1) ?? "")}`,
      );
      this.#startAgent();
    });
  }

  async #killAgent(): Promise<void> {
    const agent = this.#agent;
    this.#agent = null;
    await agent?.kill();
  }

  async #stopAgent(): Promise<void> {
    const agent = this.#agent;
    this.#agent = null;
    if (!agent) return;
    const startedAt = Date.now();
    const how = await agent.stop();
    const tookMs = Date.now() - startedAt;
    // A signal that comes before the program listens to signals simply ends it.
    if (how !== 0 && how !== "SIGTERM") this.#faults.push(`SIGTERM ended the agent with ${how}`);
    if (tookMs > STOP_LIMIT_MS) this.#faults.push(`a clean end took ${tookMs} ms`);
  }

  async #follow(plan: readonly Planned[], startedAt: number): Promise<void> {
    const running: Promise<void>[] = [];
    for (const { atMs, event } of plan) {
      await sleep(Math.max(0, startedAt + atMs - Date.now()));
      const part = PART_OF[event.name];
      if (this.#busy.has(part)) continue;
      this.#busy.add(part);
      this.#events.set(event.name, (this.#events.get(event.name) ?? 0) + 1);
      this.#options.log(`${String(atMs).padStart(6)} ms  ${JSON.stringify(event)}`);
      running.push(this.#happen(event).finally(() => this.#busy.delete(part)));
    }
    await Promise.all(running);
  }

  async #happen(event: ChaosEvent): Promise<void> {
    switch (event.name) {
      case "agent killed":
        await this.#killAgent();
        await sleep(event.forMs);
        return this.#startAgent();
      case "agent stopped":
        await this.#stopAgent();
        await sleep(event.forMs);
        return this.#startAgent();
      case "broker killed":
        return this.#killBroker(event.forMs);
      case "broker frozen":
        this.#broker.freeze();
        await sleep(event.forMs);
        return this.#broker.thaw();
      case "link silent":
        this.#relay.silence();
        await sleep(event.forMs);
        return this.#relay.heal();
      case "link reset":
        return this.#relay.reset();
      case "gateway fault":
        this.#simulator.faults.add(event.fault);
        await sleep(event.forMs);
        return;
      case "odd records":
        this.#simulator.faults.add(event.fault);
        return;
      case "gateway clock set":
        this.#simulator.clock.setOffset(event.offsetMs);
        await sleep(event.forMs);
        return this.#simulator.clock.setOffset(0);
      case "disk full":
        return this.#fillDisk(event.forMs);
      case "box clock set":
        return writeFileSync(
          this.#clockFile,
          event.offsetS < 0 ? `${event.offsetS}` : `+${event.offsetS}`,
        );
    }
  }

  /** The agent reaches the new broker only once the recorder listens: what it delivers must be seen. */
  async #killBroker(forMs: number): Promise<void> {
    this.#relay.shut();
    await this.#broker.kill();
    await this.#recorder.lost();
    await sleep(forMs);
    await this.#broker.restart();
    await this.#recorder.ready();
    this.#relay.open();
  }

  async #fillDisk(forMs: number): Promise<void> {
    const filler = join(this.#dataDir, "filler");
    const { bavail, bsize } = statfsSync(this.#dataDir);
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
    for (const { id, spec } of this.#simulator.faults.list()) {
      const isPassing = spec.forMs !== undefined;
      if (isPassing) this.#simulator.faults.remove(id);
    }
    await sleep(300);
    await this.#stopAgent();
    this.#startAgent();
  }

  /** Waits until everything due has come, or nothing more can be hoped for. */
  async #settled(): Promise<Verdict> {
    // What the agent reads from now on is shown as it is; a few plant minutes more make sure that it has read once.
    await sleep(4000);
    const { must } = expectationOf(this.#simulator, BACKFILL_DAYS);
    let deadline = Date.now() + SETTLE_MS;
    let missingBefore = Number.POSITIVE_INFINITY;
    for (;;) {
      const { must: _, ...later } = expectationOf(this.#simulator, BACKFILL_DAYS);
      const verdict = judge({ ...later, must }, this.#recorder);
      const missing = this.#host ? this.#missingAtHost(must) : [];
      const lost = [...verdict.lost, ...missing.map((key) => `sparkplug ${key}`)];
      if (lost.length === 0 || Date.now() > deadline) return { ...verdict, lost };
      if (lost.length < missingBefore) deadline = Date.now() + SETTLE_MS;
      missingBefore = lost.length;
      await sleep(1000);
    }
  }

  /** Sparkplug tells no ids: every record must have come as data of its device, kind and time. */
  #missingAtHost(must: ReturnType<typeof expectationOf>["must"]): string[] {
    const seen = new Set<string>();
    for (const key of this.#host?.values.keys() ?? []) {
      const [device = "", metric = "", time = ""] = key.split(" ");
      seen.add(`${device} ${metric.split("/")[0]} ${time}`);
    }
    const wanted = [...must.values()].map(
      ({ sensor, kind, timeMs }) => `${sensor} ${kind} ${timeMs}`,
    );
    return [...new Set(wanted)].filter((key) => !seen.has(key));
  }

  /** The ids that the store holds. */
  async #checkStore(): Promise<ReadonlySet<string>> {
    const { stdout } = await RUN(
      process.execPath,
      [
        this.#place.program,
        "export",
        "--from",
        "1999-01-01",
        "--to",
        "2120-01-01",
        "--format",
        "jsonl",
      ],
      { env: { ...this.#env, LD_PRELOAD: "" }, cwd: this.#directory, maxBuffer: 1e9 },
    );
    const { ids, twice } = storedIds(stdout);
    for (const id of twice) this.#faults.push(`${id} is stored twice`);
    return ids;
  }

  async close(): Promise<void> {
    await this.#killAgent();
    await this.#host?.close();
    await this.#recorder?.close();
    await this.#relay?.close();
    await this.#broker?.close();
    await this.#simulator?.close();
    if (this.#options.keep)
      cpSync(this.#dataDir, join(this.#directory, "kept"), { recursive: true });
    if (this.#isMounted) this.#place.smallDisk?.unmount(this.#dataDir);
    if (!this.#options.keep) rmSync(this.#directory, { recursive: true, force: true });
  }
}
