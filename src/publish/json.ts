import type { Message } from "../core/ports.ts";
import type { Kind, Sensor } from "../core/sensor.ts";
import { createTimeText, type Encode } from "./encoder.ts";
import { createTopics } from "./topics.ts";

export interface JsonEncoderOptions {
  readonly prefix: string;
  readonly site: string;
  readonly sensors: readonly Sensor[];
  /** PUBLISH_RAW. */
  readonly withRaw: boolean;
}

/** What all messages of one sensor and kind share. */
interface Frame {
  readonly liveTopic: string;
  readonly historyTopic: string;
  /** From after the id to before the time's text. */
  readonly head: string;
  /** `,"location":{…}` or nothing. */
  readonly location: string;
}

/** The JSON reading of contract 6, joined from the texts the store keeps: nothing is parsed or serialised per reading. */
export function createJsonEncoder(options: JsonEncoderOptions): Encode {
  const topics = createTopics(options.prefix, options.site);
  const sensors = new Map(options.sensors.map((sensor) => [sensor.code, sensor]));
  const frames = new Map<string, Frame>();
  const timeText = createTimeText();

  const frameOf = (code: string, kind: Kind): Frame => {
    const key = `${kind} ${code}`;
    const known = frames.get(key);
    if (known) return known;
    // A sensor that has left the site file still gets its stored readings out, without name and location.
    const sensor = sensors.get(code);
    const name = sensor?.name === undefined ? "" : `,"name":${JSON.stringify(sensor.name)}`;
    const frame: Frame = {
      liveTopic: topics.reading(code, kind),
      historyTopic: topics.history(code, kind),
      head: `","site":${JSON.stringify(options.site)},"sensor":${JSON.stringify(code)},"kind":"${kind}"${name},"time":"`,
      location: sensor?.location ? `,"location":${JSON.stringify(sensor.location)}` : "",
    };
    frames.set(key, frame);
    return frame;
  };

  return ({ reading, live }): readonly Message[] => {
    const frame = frameOf(reading.sensor, reading.kind);
    const raw = options.withRaw ? `,"raw":${reading.raw}` : "";
    return [
      {
        topic: live ? frame.liveTopic : frame.historyTopic,
        payload: `{"v":1,"id":"${reading.id}${frame.head}${timeText(reading.timeMs)}","values":${reading.values},"units":${reading.units},"quality":${reading.quality},"attributes":${reading.attributes}${frame.location}${raw},"historical":${!live}}`,
        qos: 1,
        retain: live,
        contentType: "application/json",
        userProperties: { id: reading.id, kind: reading.kind },
      },
    ];
  };
}
