/**
 * Azure IoT Hub (learn.microsoft.com, azure/iot/iot-mqtt-connect-to-iot-hub): MQTT 3.1.1, one topic for everything that
 * a device sends, with a property bag at its end that gives the type. Nothing is retained; the client id is the device
 * id.
 */

import { type Note, shown } from "../../config/fault.ts";
import { eventTimeMs } from "../../core/alarm/event.ts";
import { isEvent } from "../../core/delivery/event-kind.ts";
import type { Message } from "../../core/message.ts";
import type { JsonObject } from "../../core/record.ts";
import { createTimeText, type Encode } from "../../pipeline/publish/formats/encoder.ts";
import { createGatesideProfile, encodeNothing } from "../../pipeline/publish/formats/gateside.ts";
import type {
  PayloadProfile,
  ProfileOptions,
  ProfileParts,
} from "../../pipeline/publish/formats/profile.ts";
import type { MachineMessageParts, MachineMessages, ToldMachine } from "../formats.ts";
import { compactWaveforms } from "./compact-waveform.ts";

/** "Device-to-cloud messages can be at most 256 KB", properties included. */
const MESSAGE_BYTES_MAX = 256 * 1024 - 4096;

type Properties = Readonly<Record<string, string>>;

/**
 * "Sending device-to-cloud messages": `devices/{device-id}/messages/events/{property-bag}`, URL-encoded. System
 * properties: $.ct content type, $.ce content encoding (without both, message routing cannot read the body), $.mid
 * message id, $.ctime time of creation.
 */
export function azureTopic(deviceId: string, properties: Properties): string {
  const all = { "$.ct": "application/json", "$.ce": "utf-8", ...properties };
  const bag = Object.entries(all).map(
    ([key, value]) => `${encodeURIComponent(key)}=${encodeURIComponent(value)}`,
  );
  return `devices/${deviceId}/messages/events/${bag.join("&")}`;
}

export function createAzureIotProfile(
  parts: ProfileParts,
  options: ProfileOptions & { readonly deviceId: string },
): PayloadProfile {
  const { deviceId } = options;
  const gateside = createGatesideProfile(parts, { ...options, retain: false });
  const timeText = createTimeText();
  const as = (message: Message, properties: Properties): Message => ({
    topic: azureTopic(deviceId, properties),
    payload: message.payload,
    qos: 1,
    retain: false,
  });
  const each = (messages: readonly Message[], properties: Properties) =>
    messages.map((message) => as(message, properties));
  const encode: Encode = (entry) => {
    const { id, sensor, kind, timeMs, values } = entry.reading;
    const createdMs = isEvent(entry.reading) ? eventTimeMs(values) : timeMs;
    const common = { "$.mid": id, "$.ctime": timeText(createdMs), sensor, kind };
    const own = isEvent(entry.reading)
      ? { type: "event" }
      : { type: "reading", historical: String(!entry.live) };
    return each(gateside.encode.json(entry), { ...common, ...own });
  };
  const waveform = compactWaveforms(parts.waveforms, options, {
    bytesMax: MESSAGE_BYTES_MAX,
    message: ({ sensor, timeMs, readingId, channel }, { index, content }) => ({
      topic: azureTopic(deviceId, {
        "$.mid": `${readingId}-${channel}-${index + 1}`,
        "$.ctime": timeText(timeMs),
        sensor,
        kind: "accel",
        type: "waveform",
      }),
      payload: JSON.stringify(content),
      qos: 1,
      retain: false,
    }),
  });
  return {
    ...gateside,
    takesCommands: false,
    encode: {
      json: encode,
      plain: encodeNothing,
      waveform,
    },
    will: (word) => {
      const message = gateside.will(word);
      return message === null ? null : as(message, { type: "state" });
    },
    agentState: (word) => each(gateside.agentState(word), { type: "state" }),
    stats: (status) => each(gateside.stats(status), { type: "stats" }),
    gap: (gap) => each(gateside.gap(gap), { type: "gap", sensor: gap.sensor, kind: gap.kind }),
    sensorState: (state) =>
      each(gateside.sensorState(state), { type: "sensorState", sensor: state.code }),
    describe: (sensor) => each(gateside.describe(sensor), { type: "about", sensor: sensor.code }),
    retainedTopics: () => ({ state: [], descriptions: [], readings: [], values: [] }),
  };
}

export const azureMachines = <T extends ToldMachine>({
  uplink,
  payload,
}: MachineMessageParts<T>): MachineMessages<T> => ({
  describe: () => [],
  state: (told, timeMs) => [
    {
      topic: azureTopic(uplink.clientId, { kind: "machine", machine: `${told.machine.id}` }),
      payload: payload(told, timeMs),
      qos: 1,
      retain: false,
    },
  ],
  place: ({ id }) => `${id}`,
  farewell: () => [],
  retained: () => [],
});

/** Learn Azure IoT Hub, "Understand the identity registry": characters and length of a device id. */
const DEVICE_ID = /^[A-Za-z0-9\-.%_*?!(),:=@$']{1,128}$/;

/** The hub ends a session that publishes to another topic than its own. */
const FORMATS_WITH_TOPICS = [
  ["plain", "plain values need"],
  ["sparkplug", "Sparkplug messages need"],
] as const;

/** What an uplink of the file may not be there. */
export function checkAzure(
  uplink: JsonObject,
  place: string,
  clientIds: readonly string[],
  fault: Note,
): void {
  for (const clientId of clientIds)
    if (!DEVICE_ID.test(clientId))
      fault({
        place: `${place}.clientId`,
        problem: `${shown(clientId)} is no device id of Azure IoT Hub: at most 128 letters, digits and - . % _ * ? ! ( ) , : = @ $ '`,
        remedy: "set clientId to the id of the device in the hub",
      });
  if (uplink["version"] === 5)
    fault({
      place: `${place}.version`,
      problem: "Azure IoT Hub does not support MQTT 5",
      remedy: "use 4, or remove it",
    });
  for (const [format, what] of FORMATS_WITH_TOPICS)
    if (Array.isArray(uplink["formats"]) && uplink["formats"].includes(format))
      fault({
        place: `${place}.formats`,
        problem: `${what} their own topics, which Azure IoT Hub does not have`,
        remedy: `remove ${format}`,
      });
}
