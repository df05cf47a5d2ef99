/**
 * AWS IoT Core (docs.aws.amazon.com, general/latest/gr/iot-core.html "Message broker and protocol limits and quotas"):
 * the contract's topics, whose limit of seven slashes is checked with the configuration, and waveforms in messages of
 * 128 KB. Retained messages need the policy action iot:RetainPublish; an account without it sets `retain` to false.
 */
import { type Note, shown } from "../../config/fault.ts";
import type { JsonObject } from "../../core/record.ts";
import { createGatesideProfile } from "../../pipeline/publish/formats/gateside.ts";
import type {
  PayloadProfile,
  ProfileOptions,
  ProfileParts,
} from "../../pipeline/publish/formats/profile.ts";
import { compactWaveforms } from "./compact-waveform.ts";

/** Quota "Message size": 128 KB including topic and properties. */
const MESSAGE_BYTES_MAX = 128 * 1024 - 2048;

export function createAwsIotProfile(parts: ProfileParts, options: ProfileOptions): PayloadProfile {
  const gateside = createGatesideProfile(parts, options);
  return {
    ...gateside,
    // A subscription that the policy does not allow ends the session, and AWS stores retained messages durably.
    marker: null,
    encode: {
      ...gateside.encode,
      waveform: compactWaveforms(parts.waveforms, options, {
        bytesMax: MESSAGE_BYTES_MAX,
        message: (waveform, { content }) => ({
          topic: gateside.topics.waveform(waveform.sensor, waveform.channel),
          payload: JSON.stringify(content),
          qos: 1,
          retain: false,
          contentType: "application/json",
          userProperties: { id: waveform.readingId, kind: "accel" },
        }),
      }),
    },
  };
}

/** AWS IoT Core endpoints and quotas, "Message broker and protocol limits": bytes of a client id. */
const CLIENT_ID_BYTES_MAX = 128;

export function awsClientIdFaults(
  _uplink: JsonObject,
  place: string,
  clientIds: readonly string[],
  fault: Note,
): void {
  for (const clientId of clientIds) {
    const bytes = Buffer.byteLength(clientId);
    if (bytes > CLIENT_ID_BYTES_MAX)
      fault({
        place: `${place}.clientId`,
        problem: `${shown(clientId)} has ${bytes} bytes, but AWS IoT allows at most ${CLIENT_ID_BYTES_MAX}`,
        remedy: "use a shorter client id",
      });
  }
}
