/** The machines of one session as devices of the node (plant section 25): born with it, dead only when they are removed. */
import type { Clock } from "../../core/ports.ts";
import {
  declarationOf,
  type MachineDevice,
  type MachineSource,
  machineMetrics,
} from "./devices.ts";
import type { SparkplugInbox } from "./inbox.ts";
import type { Sender } from "./sender.ts";
import type { NodeSession, Outgoing } from "./session.ts";
import type { Settlements } from "./settlements.ts";

interface BornMachinesParts {
  /** Null: machines are no devices of this node. */
  readonly machines: MachineSource | null;
  readonly session: NodeSession;
  readonly sender: Pick<Sender, "data" | "send">;
  readonly inbox: Pick<SparkplugInbox, "hasHostLeft">;
  readonly settlements: Pick<Settlements, "oversize">;
  readonly clock: Pick<Clock, "now">;
}

export class BornMachines {
  readonly #parts: BornMachinesParts;
  /** What the birth of each declared. */
  readonly #declared = new Map<string, string>();
  /** What the births that the broker refuses would declare: none of their data can be sent in this session. */
  readonly #unbirthable = new Map<string, string>();

  constructor(parts: BornMachinesParts) {
    this.#parts = parts;
  }

  isMachine(device: string): boolean {
    return this.#declared.has(device);
  }

  /** After an NBIRTH: all of them. False if the session is over. */
  bearAll(): Promise<boolean> {
    this.#declared.clear();
    return this.#bear(this.#parts.machines?.devices() ?? []);
  }

  /** Births, deaths and what is due. False if the session is over or births come first. */
  async tick(): Promise<boolean> {
    const { machines } = this.#parts;
    if (machines === null) return true;
    const devices = new Map(machines.devices().map((device) => [device.id, device]));
    for (const id of this.#unbirthable.keys()) {
      if (!devices.has(id)) this.#unbirthable.delete(id);
    }
    if (!(await this.#bury(devices)) || !(await this.#bear([...devices.values()]))) return false;
    return await this.#tell(machines, devices);
  }

  async #bury(devices: ReadonlyMap<string, MachineDevice>): Promise<boolean> {
    const { session, clock } = this.#parts;
    for (const id of this.#declared.keys()) {
      if (devices.has(id)) continue;
      if (!(await this.#data("DDEATH", id, () => session.ddeath(clock.now(), id)))) return false;
      this.#declared.delete(id);
    }
    return true;
  }

  /** Births of those that are new, or have other metrics now. */
  async #bear(devices: readonly MachineDevice[]): Promise<boolean> {
    const { machines, session, sender, clock, inbox, settlements } = this.#parts;
    for (const device of devices) {
      const { id } = device;
      const declaration = declarationOf(device);
      const isDone = [this.#declared, this.#unbirthable].some((of) => of.get(id) === declaration);
      if (isDone) continue;
      if (inbox.hasHostLeft) return true;
      const nowMs = clock.now();
      const metrics = machineMetrics(device, machines?.birth(id) ?? {}, nowMs);
      const result = await sender.send(session.dbirth(nowMs, id, metrics));
      if (result === "lost") return false;
      const known = result === "sent" ? this.#declared : this.#unbirthable;
      known.set(id, declaration);
      if (result === "oversize") settlements.oversize(`DBIRTH of ${id}`, "sparkplug", []);
    }
    return true;
  }

  async #tell(
    machines: MachineSource,
    devices: ReadonlyMap<string, MachineDevice>,
  ): Promise<boolean> {
    const { session, clock } = this.#parts;
    for (const [id, values] of machines.due()) {
      const device = devices.get(id);
      if (device === undefined || !session.isDeviceBorn(id)) continue;
      const nowMs = clock.now();
      // The birth with a new list may have been refused.
      const isKnown = (name: string) => name in values && session.isMetricBorn(id, name);
      const metrics = machineMetrics(device, values, nowMs).filter(({ name }) => isKnown(name));
      if (metrics.length === 0) continue;
      // Births, now or in the next session, contain the same.
      if (!(await this.#data("DDATA", id, () => session.ddata(nowMs, id, metrics)))) return false;
    }
    return true;
  }

  /** False if the session is over or births come first. */
  async #data(verb: "DDATA" | "DDEATH", id: string, make: () => Outgoing): Promise<boolean> {
    const { sender, session, settlements } = this.#parts;
    if (!session.isDeviceBorn(id)) return true;
    const result = await sender.data(make);
    if (result === "oversize") settlements.oversize(`${verb} of ${id}`, "sparkplug", []);
    return result !== "lost" && result !== "held";
  }
}
