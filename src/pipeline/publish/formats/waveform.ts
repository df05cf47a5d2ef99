import { endianness } from "node:os";
import type { Message } from "../../../core/message.ts";
import type { WaveformReader } from "../../../core/ports.ts";
import { channelLabels } from "../../../core/sensors/channel-labels.ts";
import type { StoredWaveform } from "../../../core/stored-reading.ts";
import { createTimeText, type Encode } from "./encoder.ts";
import { createSiteTopics, type Naming, sensorsOf } from "./naming.ts";

export interface WaveformEncoderOptions extends Naming {
  /** PUBLISH_WAVEFORMS; with `never` the lane is not built. */
  readonly which: "always" | "alarm";
}

const RECORDING_REASONS: Readonly<Record<number, string>> = {
  1: "requested",
  2: "scheduled",
  3: "alarm",
};

function recordingReasonText(reason: number | null): string {
  return (reason === null ? undefined : RECORDING_REASONS[reason]) ?? "unknown";
}

/** `alarm` means: recorded for an alarm, or because somebody requested it. */
export function isWanted(which: "always" | "alarm", reason: number | null): boolean {
  return which === "always" || reason === 3 || reason === 1;
}

/** Mean-free acceleration in G as base64 of 32-bit little-endian floats. */
function packWaveform(samples: Int16Array, calibration: number): string {
  const count = samples.length;
  let sum = 0;
  for (let i = 0; i < count; i++) sum += samples[i] ?? 0;
  const mean = count === 0 ? 0 : sum / count;
  const floats = new Float32Array(count);
  for (let i = 0; i < count; i++) floats[i] = ((samples[i] ?? 0) - mean) * calibration;
  const bytes = Buffer.from(floats.buffer);
  if (endianness() === "BE") bytes.swap32();
  return bytes.toString("base64");
}

/** One message per channel of a stored measurement; samples that retention has removed are not sent. */
export function createWaveformEncoder(
  waveforms: WaveformReader,
  options: WaveformEncoderOptions,
): Encode {
  const topics = createSiteTopics(options);
  const headOf = createWaveformHead(options);
  const encode = (waveform: StoredWaveform): Message => ({
    topic: topics.waveform(waveform.sensor, waveform.channel),
    // JSON.stringify would look at each character of the samples: most of what such a message costs.
    payload: `${JSON.stringify(headOf(waveform)).slice(0, -1)},"base64":"${packWaveform(waveform.samples, waveform.calibration)}"}`,
    qos: 1,
    retain: false,
    contentType: "application/json",
    userProperties: { id: waveform.readingId, kind: "accel" },
  });
  return eachWaveform(waveforms, options.which, (waveform) => [encode(waveform)]);
}

/** A waveform message without its samples, in the contract's order. */
export function createWaveformHead(naming: Naming): (waveform: StoredWaveform) => object {
  const sensors = sensorsOf(naming.source);
  const timeText = createTimeText();
  return (waveform) => {
    const channel = `channel${waveform.channel}`;
    const sensor = sensors().get(waveform.sensor);
    const label = sensor && channelLabels(sensor, "accel")?.[channel];
    return {
      v: 1,
      id: waveform.readingId,
      site: naming.site,
      sensor: waveform.sensor,
      time: timeText(waveform.timeMs),
      channel,
      axis: waveform.axis,
      unit: "G",
      sampleRate: waveform.sampleRateHz,
      samples: waveform.samples.length,
      recordingReason: recordingReasonText(waveform.recordingReason),
      ...(label === undefined ? {} : { channels: { [channel]: label } }),
    };
  };
}

/** Encodes every selected and still stored channel of a measurement. */
export function eachWaveform(
  waveforms: WaveformReader,
  which: "always" | "alarm",
  encode: (waveform: StoredWaveform) => readonly Message[],
): Encode {
  return ({ reading }): readonly Message[] => {
    const messages: Message[] = [];
    // Most recordings are scheduled ones: their samples are not even read from the store.
    const { recording_reason: reason }: { recording_reason?: unknown } = JSON.parse(
      reading.attributes,
    );
    if (typeof reason === "number" && !isWanted(which, reason)) return messages;
    for (const { fileId } of reading.waveforms) {
      const waveform = waveforms.read(fileId);
      if (waveform && isWanted(which, waveform.recordingReason)) {
        messages.push(...encode(waveform));
      }
    }
    return messages;
  };
}
