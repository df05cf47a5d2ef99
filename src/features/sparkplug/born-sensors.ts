/** The sensors of one session as devices of the node: born with it, dead while they are silent, born again when they have other metrics. */
import type { Clock } from "../../core/ports.ts";
import { ALARM_PREFIX } from "./alarms.ts";
import type { BornMachines } from "./born-machines.ts";
import type { Device } from "./device.ts";
import type { Devices } from "./devices.ts";
import type { SparkplugInbox } from "./inbox.ts";
import type { LeasedReadings } from "./leased-readings.ts";
import type { Sender } from "./sender.ts";
import type { NodeSession } from "./session.ts";

interface BornSensorsParts {
  readonly devices: Devices;
  readonly session: NodeSession;
  readonly sender: Pick<Sender, "birth" | "data">;
  readonly leased: Pick<LeasedReadings, "isQuiet">;
  readonly inbox: Pick<SparkplugInbox, "hasHostLeft">;
  readonly clock: Pick<Clock, "now">;
}

export class BornSensors {
  readonly #parts: BornSensorsParts;

  constructor(parts: BornSensorsParts) {
    this.#parts = parts;
  }

  /** After an NBIRTH: all that are not silent. */
  async bearAll(): Promise<"born" | "host_left" | "lost"> {
    const { devices, inbox, sender } = this.#parts;
    for (const device of devices.configured) {
      if (inbox.hasHostLeft) return "host_left";
      if (!devices.isSilent(device) && (await sender.birth(device)) === "lost") return "lost";
    }
    return "born";
  }

  /** Births and deaths that are due. False if the session is over or births come first. */
  async tick(machines: Pick<BornMachines, "isMachine">): Promise<boolean> {
    const { session, sender, devices, clock, leased } = this.#parts;
    for (const device of devices.takeRenewed()) {
      if (!session.isDeviceBorn(device.id)) continue;
      if (!(await this.#withdraw(device)) || (await sender.birth(device)) === "lost") return false;
    }
    for (const id of session.bornDevices) {
      if (machines.isMachine(id)) continue;
      // There is none if the site file writes the code with other zeros now: its new device has another id.
      const device = devices.byId(id);
      if (device !== undefined && !(devices.isSilent(device) && leased.isQuiet(device))) continue;
      const result = await sender.data(() => session.ddeath(clock.now(), id));
      if (result === "lost" || result === "held") return false;
    }
    for (const device of devices.configured) {
      if (session.isDeviceBorn(device.id) || devices.isSilent(device)) continue;
      if ((await sender.birth(device)) === "lost") return false;
    }
    return true;
  }

  /**
   * A death before the birth that lacks a metric: hosts keep the last value of a metric, and its quality, when it is only missing.
   * The end of an alarm is its own value. False if the session is over or births come first.
   */
  async #withdraw(device: Device): Promise<boolean> {
    const { session, sender, clock } = this.#parts;
    const isGone = (name: string) =>
      !name.startsWith(ALARM_PREFIX) && device.shape(name) === undefined;
    if (![...session.bornMetrics(device.id)].some(isGone)) return true;
    const result = await sender.data(() => session.ddeath(clock.now(), device.id));
    return result === "sent" || result === "oversize";
  }
}
