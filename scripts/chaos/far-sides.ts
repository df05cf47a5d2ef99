/** The further uplinks of a campaign: their own brokers behind their own relays, the subscribers there, and the uplinks file. */
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { type Mosquitto, startMosquitto } from "../../test/support/mosquitto.ts";
import { CLOUD_SELECT } from "./cloud-select.ts";
import { type LinkFault, PLANT_SITE } from "./events.ts";
import { Recorder } from "./recorder.ts";
import { RecordingHost } from "./recording-host.ts";
import { Relay } from "./relay.ts";
import { writeWhole } from "./site-file.ts";

export type FarName = "cloud" | "visitor" | "scada";

/** A broker, its relay and its subscriber. */
interface FarSide {
  readonly broker: Mosquitto;
  readonly relay: Relay;
  readonly recorder: Recorder | null;
}

export class FarSides {
  readonly host: RecordingHost;
  readonly cloud: Recorder;
  /** Comes and goes. */
  readonly visitor: Recorder;
  readonly #sides: Readonly<Record<FarName, FarSide>>;
  readonly #path: string;
  #hasVisitor = true;
  /** Of the uplink `cloud`: changing it renews that uplink's session and nothing else. */
  #inflight = 100;

  private constructor(
    path: string,
    sides: Readonly<Record<FarName, FarSide>>,
    cloud: Recorder,
    visitor: Recorder,
    host: RecordingHost,
  ) {
    this.#path = path;
    this.#sides = sides;
    this.cloud = cloud;
    this.visitor = visitor;
    this.host = host;
    this.#write();
  }

  static async open(directory: string, closers: (() => unknown)[]): Promise<FarSides> {
    const broker = async () => {
      const started = await startMosquitto();
      closers.push(() => started.close());
      return started;
    };
    const relayTo = async ({ port }: Mosquitto) => {
      const relay = new Relay(port);
      await relay.listen();
      closers.push(() => relay.close());
      return relay;
    };
    const json = await broker();
    const sparkplug = await broker();
    const cloud = new Recorder(json.url, { prefix: "cloud", keepsValues: true, topicOf });
    closers.push(() => cloud.close());
    const visitor = new Recorder(json.url, { prefix: "visitor", keepsValues: true });
    closers.push(() => visitor.close());
    await cloud.ready();
    await visitor.ready();
    const host = new RecordingHost(sparkplug.url);
    closers.push(() => host.close());
    const sides = {
      cloud: { broker: json, relay: await relayTo(json), recorder: cloud },
      visitor: { broker: json, relay: await relayTo(json), recorder: visitor },
      scada: { broker: sparkplug, relay: await relayTo(sparkplug), recorder: null },
    };
    return new FarSides(join(directory, "uplinks.json"), sides, cloud, visitor, host);
  }

  get path(): string {
    return this.#path;
  }

  /** Adds or removes the uplink that comes and goes. */
  toggleVisitor(): void {
    this.#hasVisitor = !this.#hasVisitor;
    this.#write();
  }
  changeCloud(): void {
    this.#inflight = this.#inflight === 100 ? 10 : 100;
    this.#write();
  }
  restore(): void {
    this.#hasVisitor = true;
    this.#write();
  }

  /** From now on nothing responds at its address. */
  darken(name: FarName): void {
    this.#sides[name].relay.shut();
  }
  brighten(name: FarName): void {
    this.#sides[name].relay.open();
  }

  async fault(name: FarName, what: LinkFault, forMs: number): Promise<void> {
    const { broker, relay } = this.#sides[name];
    switch (what) {
      case "killed":
        return this.#kill(broker, forMs);
      case "frozen":
        broker.freeze();
        await sleep(forMs);
        return broker.thaw();
      case "silent":
        relay.silence();
        await sleep(forMs);
        return relay.heal();
      case "reset":
        return relay.reset();
    }
  }

  /** The agent reaches the new broker only once the recorders are subscribed there. */
  async #kill(broker: Mosquitto, forMs: number): Promise<void> {
    const sides = Object.values(this.#sides).filter((side) => side.broker === broker);
    const shut = sides.filter(({ relay }) => relay.isOpen);
    for (const { relay } of shut) relay.shut();
    await broker.kill();
    for (const { recorder } of sides) await recorder?.lost();
    await sleep(forMs);
    await broker.restart();
    for (const { recorder } of sides) await recorder?.ready();
    for (const { relay } of shut) relay.open();
  }

  #write(): void {
    const { cloud, visitor, scada } = this.#sides;
    const topics = { reading: "{prefix}/{site}/{area}/{machine}/{name}/{sensor}/{kind}" };
    const uplinks = [
      {
        name: "cloud",
        url: cloud.relay.url,
        topicPrefix: "cloud",
        topics,
        select: CLOUD_SELECT,
        waveforms: "never",
        raw: true,
        inflight: this.#inflight,
      },
      {
        name: "scada",
        url: scada.relay.url,
        formats: ["sparkplug"],
        waveforms: "never",
        sparkplug: { group: PLANT_SITE, node: "gateside", host: "scada" },
      },
      { name: "visitor", url: visitor.relay.url, topicPrefix: "visitor", waveforms: "never" },
    ];
    writeWhole(this.#path, { uplinks: uplinks.filter((_, i) => i < 2 || this.#hasVisitor) });
  }
}

/** Names change while the campaign runs, so any will do. */
const topicOf = (sensor: string, kind: string) =>
  new RegExp(`^cloud/${PLANT_SITE}/[^/]+/[^/]+/[^/]+/${sensor}/${kind}$`);
