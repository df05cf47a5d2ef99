/** A site of two machines, and what is published of one. */

import { profileOf } from "../../../src/config/profiles.ts";
import type { Sensor } from "../../../src/core/sensor.ts";
import { type SiteMachine, siteMachines } from "../../../src/core/site-machines.ts";
import { fixedSite } from "../../../src/core/site-source.ts";
import { createTopics } from "../../../src/core/topics/topics.ts";
import type { Uplink } from "../../../src/core/uplink.ts";
import { createMachineMessages } from "../../../src/features/condition/machine-messages.ts";
import type { PublishedMachine } from "../../../src/features/condition/rules/machine-payload.ts";

export const sensor = (code: string, machine: number, name?: string): Sensor => ({
  code,
  type: 3,
  kinds: ["accel"],
  channels: {},
  location: {
    company: 1,
    area: 2,
    machine,
    point: 1,
    names: { area: "Boiler house", ...(name !== undefined && { machine: name }) },
  },
});
export const SITE = { site: "plant-7", sensors: [sensor("1", 40, "Pump 4"), sensor("2", 41)] };
export const [pump] = siteMachines(SITE) as [SiteMachine, SiteMachine];
export const PUBLISHED: PublishedMachine = {
  machine: pump,
  outlook: { sensor: "1", value: "channel1_vel_rms", from: "2026-12-01T00:00:00.000Z", to: null },
  members: {
    id: 40,
    sensor: null,
    name: "Pump 4",
    area: "Boiler house",
    state: "running",
    running: true,
    speedRpm: 1480,
    sensors: ["1"],
    findings: 1,
    worstStage: 2,
    condition: "warning",
    reason: "Outer race of bearing 6205.",
    unknown: null,
    since: "2026-11-20T10:00:00.000Z",
    sinceAtLeast: false,
    acknowledged: false,
    stage: 2,
    zone: null,
    outlook: "2026-12-01T00:00:00.000Z",
    changed: {
      sensor: "1",
      value: "channel1_vel_rms",
      unit: "mm/s",
      now: 2,
      before: 1,
      against: "month",
      text: "Twice as much.",
    },
    zoneSince: null,
    alarmCount: { alarm: 0, warning: 1 },
    activeFindings: [
      {
        finding: "bearing_outer_race",
        bearing: "6205",
        shaft: null,
        sensor: "1",
        stage: 2,
        since: "2026-11-20T10:00:00.000Z",
        text: "Lines at 3.58x.",
      },
    ],
    marks: [],
    alarms: [],
  },
};
export const AT = Date.parse("2026-11-20T12:00:00Z");
export const messagesOf = ({ profile, ...change }: Partial<Uplink>) =>
  createMachineMessages(
    { clientId: "box-7", compact: false, formats: ["json"], retain: true, ...change },
    { topics: createTopics("gateside", "plant-7"), site: fixedSite(SITE), version: "0.4.0" },
    profileOf(profile)?.machines,
  );
export const json = (payload: string | Uint8Array | undefined): Record<string, unknown> =>
  JSON.parse(String(payload));
