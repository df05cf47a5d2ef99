/**
 * ThingsBoard's gateway API (thingsboard.io, docs/reference/gateway-mqtt-api): every sensor is a device behind this
 * gateway. Telemetry carries the reading's own time in `ts`, so that the backlog is stored at the right times. There
 * is no will: ThingsBoard detects the end of the session by itself.
 */

import { eventTimeMs } from "../../core/alarm/event.ts";
import type { OutboxEntry } from "../../core/delivery/delivery.ts";
import { isEvent } from "../../core/delivery/event-kind.ts";
import type { Message } from "../../core/message.ts";
import { intactJson } from "../../core/parsed-json.ts";
import { type Reading } from "../../core/reading.ts";
import { machineArea } from "../../core/site-machines.ts";
import { withValues } from "../../core/stored-reading.ts";
import { aboutPayload } from "../../pipeline/publish/formats/about.ts";
import type { Encode } from "../../pipeline/publish/formats/encoder.ts";
import { encodeNothing } from "../../pipeline/publish/formats/gateside.ts";
import { createSiteTopics } from "../../pipeline/publish/formats/naming.ts";
import {
  gapPayload,
  sensorStatePayload,
  statsPayload,
} from "../../pipeline/publish/formats/presence-payloads.ts";
import type {
  PayloadProfile,
  ProfileOptions,
  ProfileParts,
} from "../../pipeline/publish/formats/profile.ts";
import type { MachineMessageParts, MachineMessages, ToldMachine } from "../formats.ts";
import { compactWaveforms } from "./compact-waveform.ts";

const TELEMETRY = "v1/gateway/telemetry";
const ATTRIBUTES = "v1/gateway/attributes";
const CONNECT = "v1/gateway/connect";
const DISCONNECT = "v1/gateway/disconnect";
const OWN_TELEMETRY = "v1/devices/me/telemetry";
const OWN_ATTRIBUTES = "v1/devices/me/attributes";
/** ThingsBoard's NETTY_MAX_PAYLOAD_SIZE is 65536 unless the operator raised it. */
const MESSAGE_BYTES_MAX = 65_536;

const json = (topic: string, content: object): Message => ({
  topic,
  payload: JSON.stringify(content),
  qos: 1,
  retain: false,
  contentType: "application/json",
});
const telemetry = (device: string, ts: number, values: object): Message =>
  json(TELEMETRY, { [device]: [{ ts, values }] });

export function createThingsBoardProfile(
  parts: ProfileParts,
  options: ProfileOptions,
): PayloadProfile {
  const { site, version } = options;
  const encode: Encode = (entry) => {
    if (isEvent(entry.reading)) return [eventTelemetry(entry)];
    const { isWanted } = options;
    const reading = isWanted === null ? entry.reading : withValues(entry.reading, isWanted);
    if (isWanted !== null && reading.values === "{}") return [];
    const values = intactJson<Reading["values"]>(reading.values);
    // ThingsBoard does not accept null. `quality` says that a value is bad, and why.
    const known = Object.entries(values).filter(([, value]) => value !== null);
    const quality = intactJson<Reading["quality"]>(reading.quality);
    const isDoubtful = Object.keys(quality).length > 0;
    const content = { ...Object.fromEntries(known), ...(isDoubtful ? { quality } : {}) };
    if (Object.keys(content).length === 0) return [];
    return [telemetry(reading.sensor, reading.timeMs, content)];
  };
  return {
    topics: createSiteTopics(options),
    takesCommands: false,
    encode: {
      json: encode,
      plain: encodeNothing,
      waveform: compactWaveforms(parts.waveforms, options, {
        bytesMax: MESSAGE_BYTES_MAX,
        message: (waveform, part) =>
          telemetry(waveform.sensor, waveform.timeMs + part.index, {
            [`waveform_channel${waveform.channel}`]: part.content,
          }),
      }),
    },
    will: () => null,
    agentState: ({ state, timeMs, reason }) => [
      json(OWN_ATTRIBUTES, {
        state,
        stateTime: new Date(timeMs).toISOString(),
        version,
        reason,
        site,
      }),
    ],
    stats: (status) => [
      json(OWN_TELEMETRY, { ts: status.nowMs, values: JSON.parse(statsPayload(site, status)) }),
    ],
    gap: (gap) => [
      json(OWN_TELEMETRY, { ts: gap.toMs, values: { gap: JSON.parse(gapPayload(site, gap)) } }),
    ],
    sensorState: (state) => [
      json(ATTRIBUTES, { [state.code]: withoutNulls(JSON.parse(sensorStatePayload(site, state))) }),
    ],
    describe: (sensor) => [
      json(CONNECT, { device: sensor.code }),
      json(ATTRIBUTES, { [sensor.code]: withoutNulls(JSON.parse(aboutPayload(site, sensor))) }),
    ],
    describeAgent: () => [],
    farewell: (code) => [json(DISCONNECT, { device: code })],
    retainedTopics: () => ({ state: [], descriptions: [], readings: [], values: [] }),
    marker: null,
    subscriptions: [],
    wantsDescriptions: () => false,
  };
}

/** Events by their own time, under their device. */
function eventTelemetry({ reading }: OutboxEntry): Message {
  const event = intactJson<object>(reading.values);
  return telemetry(reading.sensor, eventTimeMs(reading.values), { event });
}

function withoutNulls(content: object): object {
  return Object.fromEntries(Object.entries(content).filter(([, value]) => value !== null));
}

/** Devices behind the gateway, as sensors are. Null is not accepted. */
export function thingsBoardMachines<T extends ToldMachine>({
  site,
}: MachineMessageParts<T>): MachineMessages<T> {
  const deviceOf = (id: number) => `${site.current.site} machine ${id}`;
  return {
    describe(machine) {
      const { id, name } = machine;
      const attributes = { site: site.current.site, machine: id, name, area: machineArea(machine) };
      return [
        json(CONNECT, { device: deviceOf(id) }),
        json(ATTRIBUTES, { [deviceOf(id)]: withoutNulls(attributes) }),
      ];
    },
    state({ machine, members }, timeMs) {
      const { condition, zone, running, stage, alarmCount } = members;
      const { alarm: alarms, warning: warnings } = alarmCount;
      const values = withoutNulls({ condition, zone, running, stage, alarms, warnings });
      return [telemetry(deviceOf(machine.id), timeMs, values)];
    },
    place: ({ id }) => deviceOf(id),
    farewell: (id) => [json(DISCONNECT, { device: deviceOf(id) })],
    retained: () => [],
  };
}
