/** Profiles of uplinks for platforms with rules of their own: Home Assistant, ThingsBoard, AWS IoT and Azure IoT Hub. */
import type { FeatureSpec } from "../feature.ts";
import type { ProfileSpec } from "../formats.ts";
import { awsClientIdFaults, createAwsIotProfile } from "./aws-iot.ts";
import { azureMachines, checkAzure, createAzureIotProfile } from "./azure-iot.ts";
import {
  azureKeyFault,
  azureUsername,
  SAS_LIFETIME_S,
  SAS_RENEW_MS,
  sasToken,
} from "./azure-sas.ts";
import { DISCOVERY } from "./discovery.ts";
import { createHomeAssistantProfile } from "./homeassistant.ts";
import { homeAssistantMachines } from "./homeassistant-machines.ts";
import { createThingsBoardProfile, thingsBoardMachines } from "./thingsboard.ts";
import {
  discoveryTopics,
  fixedMachineTopics,
  fixedTopics,
  machineDiscoveryTopics,
  THINGSBOARD,
} from "./topics.ts";

const HOME_ASSISTANT = {
  name: "homeassistant",
  topics: { ofMachine: machineDiscoveryTopics, beside: discoveryTopics },
  entities: `${DISCOVERY}/`,
  create: createHomeAssistantProfile,
  machines: homeAssistantMachines,
} as const satisfies ProfileSpec;

/**
 * ThingsBoard, "Tenant profiles", transport limits of a new profile: 3,000 telemetry messages a minute; what exceeds them ends the
 * session. A device may have 100 messages in flight (device session limits).
 */
const THINGSBOARD_PROFILE = {
  name: "thingsboard",
  topics: {
    fixed: (_plan, site, sensors, select, machines) => [
      ...fixedTopics(THINGSBOARD, sensors, select),
      ...fixedMachineTopics(site, machines),
    ],
  },
  limits: { publishesPerS: 40, inflightMax: 100 },
  create: createThingsBoardProfile,
  machines: thingsBoardMachines,
} as const satisfies ProfileSpec;

/**
 * AWS IoT Core, "Message broker and protocol limits and quotas": 7 slashes and 256 bytes in a topic, 100 publish requests per second per
 * connection (what exceeds them is discarded without a PUBACK) and 100 unacknowledged publishes per client.
 */
const AWS_IOT = {
  name: "aws-iot",
  topics: {
    limits: {
      platform: "AWS IoT",
      bytesMax: 256,
      // Basic ingest does not count the first three levels.
      slashesMax: (topic) => (topic.startsWith("$aws/rules/") ? 10 : 7),
    },
  },
  limits: { publishesPerS: 80, inflightMax: 100 },
  check: awsClientIdFaults,
  create: createAwsIotProfile,
} as const satisfies ProfileSpec;

/** Azure IoT Hub, "IoT Hub quotas and throttling": 100 device-to-cloud sends per second in the smallest tiers. */
const AZURE_IOT = {
  name: "azure-iot",
  topics: {
    fixed: ({ clientId }, _site, _sensors, select) =>
      fixedTopics([[`devices/${clientId}/messages/events/`, "everything"]], [], select),
  },
  version: 4,
  limits: { publishesPerS: 80, inflightMax: 100 },
  login: {
    username: azureUsername,
    keyFault: azureKeyFault,
    lifetimeS: SAS_LIFETIME_S,
    renewMs: SAS_RENEW_MS,
    password: sasToken,
    secretOf: (token) => new URLSearchParams(token).get("sig") ?? "",
  },
  check: checkAzure,
  create: createAzureIotProfile,
  machines: azureMachines,
} as const satisfies ProfileSpec;

export const PLATFORMS_SPEC = {
  name: "platforms",
  profiles: [HOME_ASSISTANT, THINGSBOARD_PROFILE, AWS_IOT, AZURE_IOT],
} as const satisfies FeatureSpec;
