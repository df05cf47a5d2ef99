/** What a campaign acts on: a plant, a broker behind a relay, subscribers, a disk, and the agent's settings. */
import { cpSync, lstatSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { startSimulator } from "../../src/simulator/server.ts";
import type { Simulator } from "../../src/simulator/simulator.ts";
import { freePort, type Mosquitto, startMosquitto } from "../../test/support/mosquitto.ts";
import { PLANT_SITE } from "./events.ts";
import { FarSides } from "./far-sides.ts";
import type { SeededRandom } from "./random.ts";
import { Recorder } from "./recorder.ts";
import { RecordingHost } from "./recording-host.ts";
import { Relay } from "./relay.ts";
import { ALARMS, NIGHTS } from "./scenes.ts";
import { SiteFile } from "./site-file.ts";
import type { SmallDisk, Workplace } from "./workplace.ts";

export interface SiteOptions {
  readonly seed: number;
  readonly formats: readonly string[];
  readonly backfillDays: number;
  /** Plant seconds per real second. */
  readonly speed: number;
  /** Seconds between two records, instead of the campaign's. */
  readonly cadenceS: number | null;
  /** Three uplinks besides `main`, each with its own broker or relay. */
  readonly hasFarSides: boolean;
  /** Leaves the directory behind, and a copy of the store in it. */
  readonly keep: boolean;
}

export interface Site {
  readonly directory: string;
  readonly dataDir: string;
  /** What libfaketime reads: the offset of the box's clock, s. */
  readonly clockFile: string;
  readonly simulator: Simulator;
  readonly broker: Mosquitto;
  readonly relay: Relay;
  readonly recorder: Recorder;
  readonly host: RecordingHost | null;
  readonly siteFile: SiteFile;
  /** Null with `main` alone. */
  readonly far: FarSides | null;
  readonly env: Readonly<Record<string, string>>;
  close(): Promise<void>;
}

export async function openSite(
  place: Workplace,
  options: SiteOptions,
  random: SeededRandom,
): Promise<Site> {
  const directory = mkdtempSync(join(tmpdir(), "gateside-chaos-"));
  const dataDir = join(directory, "data");
  const clockFile = join(directory, "clock");
  const closers: (() => unknown)[] = [];
  const close = async () => {
    for (const closer of closers.splice(0).reverse()) await closer();
  };
  closers.push(() => {
    if (!options.keep) rmSync(directory, { recursive: true, force: true });
  });
  try {
    if (place.smallDisk) closers.push(mounted(place.smallDisk, dataDir));
    if (options.keep) {
      // Sockets cannot be copied, and an agent that was killed leaves its socket behind.
      const isCopied = (path: string) => !lstatSync(path).isSocket();
      const kept = join(directory, "kept");
      closers.push(() => cpSync(dataDir, kept, { recursive: true, filter: isCopied }));
    }
    const [zone, start] = random.pick(NIGHTS);
    const simulator = await openSimulator(options, zone, Date.parse(start), random);
    closers.push(() => simulator.close());
    const broker = await startMosquitto();
    closers.push(() => broker.close());
    const relay = new Relay(broker.port);
    await relay.listen();
    closers.push(() => relay.close());
    const hasHost = options.formats.includes("sparkplug");
    const keepsValues = hasHost || options.hasFarSides;
    const recorder = new Recorder(broker.url, { prefix: "gateside", keepsValues });
    closers.push(() => recorder.close());
    await recorder.ready();
    const host = hasHost ? new RecordingHost(broker.url) : null;
    closers.push(() => host?.close());
    writeFileSync(clockFile, "+0");
    const siteFile = join(directory, "site.json");
    const file = new SiteFile(siteFile, { ...simulator.siteFile(PLANT_SITE), alarms: ALARMS });
    const far = options.hasFarSides ? await FarSides.open(directory, closers) : null;
    const env = {
      GATEWAY_URL: simulator.url,
      GATEWAY_TIMEZONE: zone,
      GATEWAY_TIMEOUT_MS: "1500",
      MQTT_URL: relay.url,
      MQTT_VERSION: String(random.pick([4, 5, 5])),
      MQTT_INFLIGHT: String(random.pick([1, 10, 100, 500])),
      PUBLISH_FORMATS: options.formats.join(","),
      PUBLISH_RAW: "true",
      PUBLISH_WAVEFORMS: "always",
      SPARKPLUG_GROUP_ID: PLANT_SITE,
      ...(hasHost ? { SPARKPLUG_HOST_ID: "scada" } : {}),
      SITE_FILE: siteFile,
      ...(far === null ? {} : { UPLINKS_FILE: far.path }),
      DATA_DIR: dataDir,
      HTTP_PORT: String(await freePort()),
      POLL_INTERVAL_S: "1",
      COMMIT_INTERVAL_S: String(options.seed % 3),
      BACKFILL_DAYS: String(options.backfillDays),
      BUFFER_MAX_MB: "24",
      DISK_FREE_MIN_MB: "0",
      LOG_LEVEL: "error",
      ...(place.fakeTimeLibrary ? fakeTime(place.fakeTimeLibrary, clockFile) : {}),
    };
    const parts = { simulator, broker, relay, recorder, host, siteFile: file, far };
    return { directory, dataDir, clockFile, env, close, ...parts };
  } catch (error) {
    await close();
    throw error;
  }
}

function openSimulator(
  { seed, speed, cadenceS, hasFarSides, formats }: SiteOptions,
  zone: string,
  startMs: number,
  random: SeededRandom,
): Promise<Simulator> {
  const cadence = random.pick([30, 40, 60]);
  // Every reading is sent several times: with as many readings as usual, draining would take longer than the faults.
  const isSlow = hasFarSides || formats.includes("sparkplug");
  const own = { accel: isSlow ? 60 : 20, loop: 20, rpm: 30 };
  const slow = { current: cadence, currentV2: cadence, accCurrent: cadence, dryContact: cadence };
  const kinds = { ...own, ...slow };
  const given = Object.keys(kinds).map((kind) => [kind, cadenceS]);
  return startSimulator({
    seed,
    sensors: 14,
    zone,
    startMs,
    speed,
    historyDays: hasFarSides ? 0.05 : 0.15,
    cadenceS: cadenceS === null ? kinds : Object.fromEntries(given),
    waveform: { sampleRateHz: 6400, samples: 256 },
  });
}

/** Returns a function that removes it again. */
function mounted(disk: SmallDisk, path: string): () => void {
  disk.mount(path);
  return () => disk.unmount(path);
}

/** Only the wall clock: the monotonic one continues, as on a box whose clock is set. */
function fakeTime(library: string, clockFile: string): Record<string, string> {
  return {
    LD_PRELOAD: library,
    FAKETIME_TIMESTAMP_FILE: clockFile,
    FAKETIME_CACHE_DURATION: "1",
    FAKETIME_DONT_FAKE_MONOTONIC: "1",
    NO_FAKE_STAT: "1",
  };
}
