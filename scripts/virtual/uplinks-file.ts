/** The uplinks file of a seed: a part of the plant, a Sparkplug host, an IoT platform. */
import { CLOUD_SELECT } from "../chaos/cloud-select.ts";
import { PLANT_SITE } from "../chaos/events.ts";
import { writeWhole } from "../chaos/site-file.ts";
import type { Broker } from "./broker.ts";
import type { Drawn } from "./draw.ts";
import type { UplinkName } from "./happenings.ts";

export class UplinksFile {
  readonly path: string;
  readonly #brokers: ReadonlyMap<UplinkName, Broker>;
  readonly #drawn: Pick<Drawn, "profile" | "version">;
  #inflight = 100;

  constructor(
    path: string,
    brokers: ReadonlyMap<UplinkName, Broker>,
    drawn: Pick<Drawn, "profile" | "version">,
  ) {
    this.path = path;
    this.#brokers = brokers;
    this.#drawn = drawn;
    this.#write();
  }

  /** A member that renews the session of `cloud`. */
  change(): void {
    this.#inflight = this.#inflight === 100 ? 10 : 100;
    this.#write();
  }

  #write(): void {
    const { profile, version } = this.#drawn;
    const inflight = this.#inflight;
    const scada = { group: PLANT_SITE, node: "gateside", host: "scada" };
    const own: Readonly<Record<Exclude<UplinkName, "main">, object>> = {
      cloud: { version, topicPrefix: "cloud", select: CLOUD_SELECT, raw: true, inflight },
      scada: { version, formats: ["sparkplug"], sparkplug: scada },
      platform: {
        profile,
        ...(profile === "azure-iot"
          ? { version: 4, clientId: "box", username: "hub/box" }
          : { version }),
        ...(profile === "thingsboard" || profile === "azure-iot"
          ? {}
          : { topicPrefix: "platform" }),
      },
    };
    const uplinks = Object.entries(own).flatMap(([name, members]) => {
      const broker = this.#brokers.get(name as UplinkName);
      return broker === undefined
        ? []
        : [{ name, url: broker.url, waveforms: "never", ...members }];
    });
    writeWhole(this.path, { uplinks });
  }
}
