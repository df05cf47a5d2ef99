/** What a platform documents as its limits for one connection, for all that is sent over it. */
import type { Profile } from "./uplink.ts";

export interface PlatformLimits {
  /** Publishes per second of a session, all of them counted; 0 = no documented limit. */
  readonly publishesPerS: number;
  /** QoS 1 publishes awaiting their PUBACK. */
  readonly inflightMax: number;
}

const NONE: PlatformLimits = { publishesPerS: 0, inflightMax: 65_535 };

/**
 * With a margin of a fifth, because the network may press what left in 1.2 s into one second, and messages that the
 * platform sends to us count too.
 *
 * - AWS IoT Core, "Message broker and protocol limits and quotas": 100 publish requests per second per connection
 *   (what exceeds them is discarded without a PUBACK) and 100 unacknowledged publishes per client.
 * - Azure IoT Hub, "IoT Hub quotas and throttling": 100 device-to-cloud sends per second in the smallest tiers.
 * - ThingsBoard, "Tenant profiles", transport limits of a new profile: 3,000 telemetry messages a minute; what exceeds
 *   them ends the session. A device may have 100 messages in flight (device session limits).
 */
const LIMITS: Readonly<Partial<Record<Profile, PlatformLimits>>> = {
  "aws-iot": { publishesPerS: 80, inflightMax: 100 },
  "azure-iot": { publishesPerS: 80, inflightMax: 100 },
  thingsboard: { publishesPerS: 40, inflightMax: 100 },
};

export function platformLimits(profile: Profile): PlatformLimits {
  return LIMITS[profile] ?? NONE;
}
