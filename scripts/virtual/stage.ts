/** The world of one seed: gateway, brokers, subscribers, files, and the agent among them. */
import { mkdirSync } from "node:fs";
import { join } from "node:path";
import type { startSimulator } from "../../src/simulator/server.ts";
import type { Simulator } from "../../src/simulator/simulator.ts";
import { CLOUD_SELECT } from "../chaos/cloud-select.ts";
import { PLANT_SITE } from "../chaos/events.ts";
import { Received } from "../chaos/received.ts";
import type { RecordingHost } from "../chaos/recording-host.ts";
import { ALARMS } from "../chaos/scenes.ts";
import { SiteFile, writeWhole } from "../chaos/site-file.ts";
import { AgentLife, type LogLine } from "./agent-life.ts";
import { Broker } from "./broker.ts";
import type { Drawn, UplinkName } from "./draw.ts";
import { Journal } from "./journal.ts";
import { Network } from "./network.ts";
import type { Program } from "./program.ts";
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
  /** Changes a member of the uplinks file that renews the session of `cloud`. */
  changeUplinks(): void;
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
  });
  const main = new Received({ keepsValues: true });
  const cloud = new Received({ keepsValues: true });
  const brokers = new Map<UplinkName, Broker>();
  for (const name of drawn.uplinks) {
    const broker = new Broker(network, around, drawn.receiveMaximum);
    broker.onPublish = ({ topic, payload }) => {
      journal.tell(
        name,
        `${topic} ${topic.startsWith("spBv1.0") ? payload.toString("hex") : payload.toString()}`,
      );
      if (topic.startsWith("gateside/")) main.take(topic, payload.toString());
      else if (topic.startsWith("cloud/")) cloud.take(topic, payload.toString());
    };
    brokers.set(name, broker);
  }
  const home = join(directory, "agent");
  mkdirSync(home);
  const site = join(home, "site.json");
  const whole = simulator.siteFile(PLANT_SITE);
  // A rule that selects nothing is refused.
  const present = new Set<string>(whole.sensors.flatMap((sensor) => sensor.kinds));
  const alarms = ALARMS.flatMap((rule) => {
    const kinds = rule.select.kinds.filter((kind) => present.has(kind));
    return kinds.length === 0 ? [] : [{ ...rule, select: { ...rule.select, kinds } }];
  });
  const siteFile = new SiteFile(site, { ...whole, alarms });
  const uplinks = new UplinksFile(join(home, "uplinks.json"), brokers);
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
    },
    startMs,
    journal,
    onLine: options.onLine,
    onFailure,
  });
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
    changeUplinks: () => uplinks.change(),
  };
}

class UplinksFile {
  readonly path: string;
  readonly #brokers: ReadonlyMap<UplinkName, Broker>;
  #inflight = 100;

  constructor(path: string, brokers: ReadonlyMap<UplinkName, Broker>) {
    this.path = path;
    this.#brokers = brokers;
    this.#write();
  }

  change(): void {
    this.#inflight = this.#inflight === 100 ? 10 : 100;
    this.#write();
  }

  #write(): void {
    const cloud = this.#brokers.get("cloud");
    const scada = this.#brokers.get("scada");
    const select = CLOUD_SELECT;
    const inflight = this.#inflight;
    writeWhole(this.path, {
      uplinks: [
        ...(cloud === undefined
          ? []
          : [
              {
                name: "cloud",
                url: cloud.url,
                topicPrefix: "cloud",
                select,
                waveforms: "never",
                raw: true,
                inflight,
              },
            ]),
        ...(scada === undefined
          ? []
          : [
              {
                name: "scada",
                url: scada.url,
                formats: ["sparkplug"],
                waveforms: "never",
                sparkplug: { group: PLANT_SITE, node: "gateside", host: "scada" },
              },
            ]),
      ],
    });
  }
}
