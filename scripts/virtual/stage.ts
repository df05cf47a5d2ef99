/** The world of one seed: gateway, brokers, subscribers, files, and the agent among them. */
import { mkdirSync } from "node:fs";
import { join } from "node:path";
import type { Site } from "../../src/core/site.ts";
import { diagnosedSite } from "../../src/simulator/diagnosed-site.ts";
import type { startSimulator } from "../../src/simulator/server.ts";
import type { Simulator } from "../../src/simulator/simulator.ts";
import { PLANT_SITE } from "../chaos/events.ts";
import type { Wanted } from "../chaos/expectation.ts";
import { SeededRandom } from "../chaos/random.ts";
import { Received } from "../chaos/received.ts";
import type { RecordingHost } from "../chaos/recording-host.ts";
import { ALARMS } from "../chaos/scenes.ts";
import { SiteFile } from "../chaos/site-file.ts";
import { AgentLife, type LogLine } from "./agent-life.ts";
import { Broker } from "./broker.ts";
import { Commands } from "./commands.ts";
import { Documents } from "./documents.ts";
import type { Drawn } from "./draw.ts";
import type { UplinkName } from "./happenings.ts";
import { Journal } from "./journal.ts";
import { Network } from "./network.ts";
import { writeOldStore } from "./old-store.ts";
import { PlatformSide } from "./platform.ts";
import type { Program } from "./program.ts";
import { UplinksFile } from "./uplinks-file.ts";
import { VirtualProcess } from "./virtual-process.ts";
import type { World } from "./world.ts";

export interface StageOptions {
  readonly drawn: Drawn;
  readonly agent: Program;
  readonly plant: Program;
  /** Empty; removed by whoever made it. */
  readonly directory: string;
  readonly journalPath: string | null;
  readonly onLine: (line: LogLine) => void;
  readonly onFailure: (what: string) => void;
}

/** An operation that tells the state of a sensor's node. */
const NODE_STATE = {
  name: "getNodeState",
  fields: { Battery: "battery", FW: "firmware", Signal: "signal" },
} as const;
const STATE_READ = {
  operation: NODE_STATE.name,
  request: "date",
  fields: {
    battery: { from: "Battery", unit: "V" },
    firmware: { from: "FW" },
    signal: { from: "Signal", unit: "dBm" },
  },
} as const;
/** Sensors whose node is asked. */
const ASKED = 2;
/** A limit that is learned. */
const LEARNED = {
  name: "learned",
  select: { kinds: ["current"] },
  baseline: { readings: 20, deviations: 3 },
} as const;
const BANDS = {
  orders: [1, 2],
  bearings: true,
  custom: [{ name: "hf", from: 1000, to: 2000, unit: "Hz", of: "accel" }],
} as const;

function withExtras(site: Site, { hasMachines, hasStateReads, ownIntervalS }: Drawn): Site {
  const { machines, ...whole } = hasMachines ? diagnosedSite(site) : site;
  const sensors = whole.sensors.map((sensor, i) => ({
    ...sensor,
    ...(hasStateReads && i < ASKED && { stateReads: [STATE_READ] }),
    ...(ownIntervalS !== null && i % 3 === 0 && { pollIntervalS: ownIntervalS }),
  }));
  const measured = machines?.map((machine) => ({ ...machine, bands: BANDS }));
  return { ...whole, sensors, ...(measured === undefined ? {} : { machines: measured }) } as Site;
}

interface PlantProgram {
  readonly startSimulator: typeof startSimulator;
  readonly RecordingHost: typeof RecordingHost;
}

export interface Stage {
  readonly world: World;
  readonly network: Network;
  readonly journal: Journal;
  readonly simulator: Simulator;
  readonly brokers: ReadonlyMap<UplinkName, Broker>;
  /** What subscribers of `main` and `cloud` got. */
  readonly main: Received;
  readonly cloud: Received;
  readonly host: RecordingHost | null;
  readonly siteFile: SiteFile;
  readonly agent: AgentLife;
  /** Every waveform must be published. */
  readonly allWaveforms: boolean;
  readonly uplinks: UplinksFile;
  readonly platform: PlatformSide;
  readonly commands: Commands;
  readonly documents: Documents;
  /** What the store held before the first start, by id. */
  readonly held: ReadonlyMap<string, Wanted>;
}

export async function openStage(world: World, options: StageOptions): Promise<Stage> {
  const { drawn, directory, onFailure } = options;
  const { seed, startMs } = drawn;
  const network = new Network(world, seed);
  const journal = new Journal(world, startMs, [[directory, "…"]], options.journalPath);
  const around = new VirtualProcess(network, {
    name: "plant",
    seed: seed ^ 0x9e37,
    startMs: () => startMs,
    onError: (error) =>
      onFailure(`around the agent: ${error instanceof Error ? error.stack : String(error)}`),
  });
  const { startSimulator, RecordingHost } = around.load<PlantProgram>(options.plant);
  const simulator = await startSimulator({
    seed,
    sensors: drawn.sensors,
    zone: drawn.zone,
    startMs,
    historyDays: drawn.historyDays,
    cadenceS: drawn.cadenceS,
    waveform: { sampleRateHz: 6400, samples: drawn.samples },
    stateOperations: [NODE_STATE],
  });
  const main = new Received({ keepsValues: true });
  const cloud = new Received({ keepsValues: true });
  const platform = new PlatformSide(drawn.profile);
  const brokers = new Map<UplinkName, Broker>();
  let commands: Commands | null = null;
  let documents: Documents | null = null;
  for (const name of drawn.uplinks) {
    const broker = new Broker(network, around, drawn.receiveMaximum);
    broker.onPublish = (message) => {
      const { topic, payload } = message;
      journal.tell(
        name,
        `${topic} ${topic.startsWith("spBv1.0") ? payload.toString("hex") : payload.toString()}`,
      );
      if (name === "platform") platform.take(topic, payload.toString());
      else if (topic.startsWith("gateside/")) {
        main.take(topic, payload.toString());
        commands?.take(message);
        documents?.take(message);
      } else if (topic.startsWith("cloud/")) cloud.take(topic, payload.toString());
    };
    brokers.set(name, broker);
  }
  commands = new Commands(
    world,
    brokers.get("main") as Broker,
    (sensor) =>
      simulator.calls.filter((call) => call.operation === "saveSettings" && call.sensor === sensor)
        .length,
  );
  const home = join(directory, "agent");
  mkdirSync(home);
  const site = join(home, "site.json");
  const whole = withExtras(simulator.siteFile(PLANT_SITE), drawn);
  // A rule that selects nothing is refused.
  const present = new Set<string>(whole.sensors.flatMap((sensor) => sensor.kinds));
  const alarms = ALARMS.flatMap((rule) => {
    const kinds = rule.select.kinds.filter((kind) => present.has(kind));
    return kinds.length === 0 ? [] : [{ ...rule, select: { ...rule.select, kinds } }];
  });
  const learned = drawn.hasMachines && present.has("current") ? [LEARNED] : [];
  const siteFile = new SiteFile(site, { ...whole, alarms: [...alarms, ...learned] });
  documents = new Documents(world, brokers.get("main") as Broker, siteFile, seed);
  const keyPath = join(home, "documents.pem");
  documents.writeKey(keyPath);
  const hasDocuments = drawn.plan.some(({ what }) => what.name === "document sent");
  const uplinks = new UplinksFile(join(home, "uplinks.json"), brokers, drawn);
  const agent = new AgentLife(network, {
    program: options.agent,
    seed,
    directory: home,
    env: {
      ...drawn.env,
      GATEWAY_URL: simulator.url,
      GATEWAY_TIMEZONE: drawn.zone,
      MQTT_URL: (brokers.get("main") as Broker).url,
      SITE_FILE: site,
      UPLINKS_FILE: uplinks.path,
      ...(hasDocuments && { CONFIG_PUBLIC_KEY_FILE: keyPath }),
    },
    startMs,
    journal,
    onLine: options.onLine,
    onFailure,
  });
  const held = drawn.isUpgrade
    ? writeOldStore(agent.dataDir, whole, startMs, new SeededRandom(seed ^ 0x51ed))
    : new Map<string, Wanted>();
  const scada = brokers.get("scada");
  const host = scada === undefined ? null : new RecordingHost(scada.url);
  return {
    world,
    network,
    journal,
    simulator,
    brokers,
    main,
    cloud,
    host,
    siteFile,
    agent,
    allWaveforms: drawn.env["PUBLISH_WAVEFORMS"] === "always",
    uplinks,
    platform,
    commands,
    documents,
    held,
  };
}
