import { hasFixedTopics, profileOf } from "../config/profiles.ts";
import { selectsMachine, selectsMachines } from "../core/site-machines.ts";
import { MachineBoard, othersMs } from "../features/condition/machine-board.ts";
import { createMachineMessages } from "../features/condition/machine-messages.ts";
import { VERSION } from "../lib/version.ts";
import type { MqttLink } from "../pipeline/link/mqtt-link.ts";
import type { Descriptions } from "../pipeline/publish/descriptions.ts";
import type { Turns } from "../pipeline/publish/turns.ts";
import { machinesKey } from "./left-entities.ts";
import type { SharedUplinkParts } from "./uplink-parts.ts";

/** The machines of one uplink; it also takes back those of an earlier run that had machines. */
export function createMachineBoard(
  { uplink, parts, own, profile }: SharedUplinkParts,
  link: MqttLink,
  turns: Turns,
): MachineBoard {
  const { site, store, clock, conditions, machineTimes } = parts;
  const memory = machinesKey(uplink.name);
  return new MachineBoard(
    {
      link,
      turns,
      site,
      clock,
      logger: own.logger,
      conditions,
      times: machineTimes,
      messages: createMachineMessages(
        uplink,
        { topics: profile.topics, site, version: VERSION },
        profileOf(uplink.profile)?.machines,
      ),
      memory: {
        load: () => store.meta.get(memory),
        save: (text) => store.meta.set(memory, text),
      },
    },
    {
      othersMs: othersMs(uplink),
      isOn: uplink.machines && selectsMachines(uplink.select),
      isCompact: uplink.compact,
      isRetained: uplink.retain,
      isSelected: (machine) => uplink.machines && selectsMachine(uplink.select, machine),
      hasFixedTopics: hasFixedTopics(uplink.profile),
    },
  );
}

type Described = Pick<Descriptions, "entitiesRemoved" | "renew" | "sync">;

/** Descriptions of machines after the box's, to which they refer, and before those of sensors, which refer to them. */
export function withMachines(descriptions: Described, board: MachineBoard): Described {
  return {
    entitiesRemoved: () => descriptions.entitiesRemoved(),
    renew() {
      board.renew();
      descriptions.renew();
    },
    sync: () => descriptions.sync(() => board.sync()),
  };
}
