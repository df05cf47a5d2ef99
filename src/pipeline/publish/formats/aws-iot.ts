/**
 * AWS IoT Core (docs.aws.amazon.com, general/latest/gr/iot-core.html "Message broker and protocol limits and quotas"):
 * the contract's topics, whose limit of seven slashes is checked with the configuration, and waveforms in messages of
 * 128 KB. Retained messages need the policy action iot:RetainPublish; an account without it sets `retain` to false.
 */
import { compactWaveforms } from "./compact-waveform.ts";
import { createGatesideProfile, encodeNothing } from "./gateside.ts";
import type { PayloadProfile, ProfileOptions, ProfileParts } from "./profile.ts";

/** Quota "Message size": 128 KB including topic and properties. */
const MESSAGE_BYTES_MAX = 128 * 1024 - 2048;

export function createAwsIotProfile(parts: ProfileParts, options: ProfileOptions): PayloadProfile {
  const gateside = createGatesideProfile(parts, options);
  const { waveforms } = options;
  return {
    ...gateside,
    // A subscription that the policy does not allow ends the session, and AWS stores retained messages durably.
    marker: null,
    encode: {
      ...gateside.encode,
      waveform:
        waveforms === "never"
          ? encodeNothing
          : compactWaveforms(
              parts.waveforms,
              { ...options, which: waveforms },
              {
                bytesMax: MESSAGE_BYTES_MAX,
                message: (waveform, { content }) => ({
                  topic: gateside.topics.waveform(waveform.sensor, waveform.channel),
                  payload: JSON.stringify(content),
                  qos: 1,
                  retain: false,
                  contentType: "application/json",
                  userProperties: { id: waveform.readingId, kind: "accel" },
                }),
              },
            ),
    },
  };
}
