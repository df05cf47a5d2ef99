/** The conditions of a small plant over a real store, and all that tells of them. */

import { profileOf } from "../../../src/config/profiles.ts";
import type { SensorState } from "../../../src/core/agent-status.ts";
import type { Message } from "../../../src/core/message.ts";
import type { Sensor } from "../../../src/core/sensor.ts";
import type { Site } from "../../../src/core/site.ts";
import { ReplaceableSite } from "../../../src/core/site-source.ts";
import type { TopicTemplates } from "../../../src/core/topics/template.ts";
import { createTopics } from "../../../src/core/topics/topics.ts";
import { SELECT_ALL, type Uplink } from "../../../src/core/uplink.ts";
import {
  MachineBoard,
  type MachineBoardParts,
  othersMs,
} from "../../../src/features/condition/machine-board.ts";
import { MachineConditions } from "../../../src/features/condition/machine-conditions.ts";
import { createMachineMessages } from "../../../src/features/condition/machine-messages.ts";
import { MachineTimes } from "../../../src/features/condition/machine-times.ts";
import { silentLogger } from "../../../src/lib/logger.ts";
import { historyPages } from "../../../src/pipeline/store/readings/history-pages.ts";
import { testParts } from "../../support/http-parts.ts";
import { openAlarms } from "../../support/open-alarms.ts";
import { append, type Cleanup, readingOf } from "../../support/temp-database.ts";

export const NOW = Date.parse("2026-11-20T12:00:00Z");
export const vibration = (machine: number): Sensor => ({
  code: `${machine}`,
  type: 3,
  kinds: ["accel"],
  channels: {},
  machineClass: "group2-rigid",
  location: { company: 1, area: 2, machine, point: 1, names: { machine: `Pump ${machine}` } },
});

export const UPLINK: Pick<
  Uplink,
  "clientId" | "compact" | "everyS" | "formats" | "onChange" | "profile" | "retain" | "select"
> = {
  clientId: "x",
  compact: false,
  everyS: null,
  formats: ["json", "plain"],
  onChange: null,
  profile: "gateside",
  retain: true,
  select: SELECT_ALL,
};

/** An uplink of a profile, whose messages are kept. */
interface Told {
  readonly board: MachineBoard;
  readonly sent: Message[];
}

/** One vibration sensor a machine; what is read, silent or acknowledged is the test's. */
export async function openMachines(t: Cleanup, ids: readonly number[]) {
  const SITE: Site = { site: "plant-7", sensors: ids.map(vibration) };
  const { alarms, store, clock } = openAlarms(t, SITE, NOW);
  const site = new ReplaceableSite(SITE);
  const newest = new Map<string, number>();
  const silent = new Set<string>();
  const sensors = (): SensorState[] =>
    site.current.sensors.map(({ code }) => ({
      code,
      state: silent.has(code) ? "silent" : "online",
      lastReadingMs: newest.get(code) ?? null,
      batteryV: null,
      kinds: [
        {
          kind: "accel",
          lastReadingMs: newest.get(code) ?? null,
          cadenceS: 60,
          lastReadAtMs: NOW,
          lastError: null,
          isSilent: silent.has(code),
        },
      ],
    }));
  const parts = {
    ...testParts(),
    site,
    clock,
    logger: silentLogger,
    history: historyPages(store.history),
    alarms: alarms.actions,
    findings: alarms.findingViews,
    machineSignals: alarms.wait,
    sensors,
    outlook: () => [],
    gatewayNow: () => clock.now(),
    timezone: "UTC",
  };
  const conditions = new MachineConditions(parts);
  /** Computed anew, as by a process that has just started. */
  const anew = () => new MachineConditions(parts).worstFirst();
  alarms.engines.onJudged((codes) => {
    for (const code of codes) conditions.judged(code);
  });
  const boardOf = (
    profile: Uplink["profile"],
    of: MachineBoardParts["conditions"] = conditions,
    templates: TopicTemplates = {},
  ): Told => {
    const sent: Message[] = [];
    const publish = (message: Message) => {
      sent.push(message);
      return Promise.resolve({ result: "delivered" } as const);
    };
    const memory = new Map<string, string>();
    const keep = { get: (name: string) => memory.get(name) ?? null, set: memory.set.bind(memory) };
    const board = new MachineBoard(
      {
        link: {
          session: 1,
          isConnected: true,
          inflightMax: 9,
          ready: () => Promise.resolve(true),
          publish,
        },
        turns: {
          next: () => Promise.resolve(),
          publish: (messages) => Promise.all(messages.map(publish)),
        },
        site,
        conditions: of,
        clock,
        logger: silentLogger,
        times: new MachineTimes({ memory: keep, clock, logger: silentLogger }),
        messages: createMachineMessages(
          UPLINK,
          {
            topics: createTopics("gateside", "plant-7", { templates, sensor: () => undefined }),
            site,
            version: "0",
          },
          profileOf(profile)?.machines,
        ),
        memory: { load: () => keep.get("m"), save: (text) => void keep.set("m", text) },
      },
      {
        othersMs: othersMs(UPLINK),
        isOn: true,
        isCompact: false,
        isRetained: true,
        isSelected: () => true,
        hasFixedTopics: false,
      },
    );
    return { board, sent };
  };
  const read = async (code: string, timeMs: number, mmS: number, zone: string) => {
    const reading = readingOf(code, timeMs, {
      kind: "accel",
      values: { channel1_vel_rms: mmS, channel1_zone: zone } as never,
    });
    await append(store, [reading]);
    newest.set(code, Math.max(timeMs, newest.get(code) ?? 0));
    conditions.stored(reading);
  };
  const { board, sent } = boardOf("gateside");
  const newestOf = (id: number, member = "", from: readonly Message[] = sent) =>
    from
      .findLast(({ topic }) => topic === `gateside/plant-7/machine/${id}${member}`)
      ?.payload.toString();
  return {
    alarms,
    anew,
    board,
    boardOf,
    clock,
    conditions,
    newestOf,
    parts,
    read,
    sent,
    silent,
    site,
  };
}
