/** Finds sensors at an analytics service: by command, and by set-up. */
import { input, list, map, NUMBER } from "../../core/schema.ts";
import { POLLED_KINDS } from "../../core/sensor.ts";
import { type Operation, SETUP_IS_OFF, SETUP_OFF } from "../../http/api-operation.ts";
import { choice, text } from "../../http/api-schemas.ts";
import type { FeatureSpec } from "../feature.ts";
import { DISCOVER_FLAGS } from "./flags.ts";
import { DISCOVERY_DRAFT, DISCOVERY_STATE } from "./rules/shown.ts";

const LOOP = input({ unit: text(32), low: NUMBER, high: NUMBER }, ["unit", "low", "high"]);

/** The password is sent to the login of that service and is not stored. */
export const DISCOVER = {
  path: "/api/v1/setup/discover",
  method: "post",
  summary:
    "Logs in to an analytics service and requests its list of sensors. The password is not stored.",
  body: input(
    {
      url: {
        ...text(2048, "Base address of the analytics service."),
        pattern: "^https?://[^/@\\s?#]+(/[^@\\s?#]*)?$",
      },
      email: text(320),
      password: text(1024),
      wireWord: {
        ...text(64, "WIRE_WORD of that service; this agent's by default."),
        pattern: "^[A-Za-z]+$",
      },
    },
    ["url", "email", "password"],
  ),
  also: {
    ...SETUP_OFF,
    409: "A search is already running.",
    422: "The address is none; nothing was tried.",
  },
  response: "The search has started.",
  status: 202,
  schema: DISCOVERY_STATE,
} as const satisfies Operation;

export const DISCOVERY = {
  path: "/api/v1/setup/discover",
  method: "get",
  summary: "The progress of the search.",
  also: SETUP_OFF,
  response: "Its state.",
  schema: DISCOVERY_STATE,
} as const satisfies Operation;

export const DRAFT = {
  path: "/api/v1/setup/discover/draft",
  method: "post",
  asks: true,
  summary:
    "The sensors found, as entries of a site file, completed with the values in the request. Changes nothing.",
  body: input({
    kinds: {
      ...map({ ...list(choice(POLLED_KINDS)), maxItems: POLLED_KINDS.length }),
      description: "Kinds by sensor type code.",
      maxProperties: 1000,
      propertyNames: { pattern: "^\\d{1,10}$" },
    },
    clamp: choice([50, 100, 250, 500]),
    loop: LOOP,
  }),
  also: { ...SETUP_OFF, 404: "No result yet." },
  response: "The sensors, and what remains unknown.",
  schema: DISCOVERY_DRAFT,
} as const satisfies Operation;

export const DISCOVER_SPEC = {
  name: "discover",
  operations: [DISCOVER, DISCOVERY, DRAFT],
  off: SETUP_IS_OFF,
  commands: [
    {
      name: "discover",
      summary: "draft a site file from an analytics service's device and axis lists",
      details:
        "Writes the draft to stdout or --out; --merge adds sensors to a file without changing the existing ones. What the service cannot\nknow (kinds, clamps, ranges) is listed on stderr with the flag to set. --gateway asks the gateway for the kinds: it tries up to\nthree sensors of each type until one has records.\nTLS with a private authority: NODE_EXTRA_CA_CERTS=FILE before the command.",
      flags: DISCOVER_FLAGS,
      examples: [
        "gateside discover --url http://analytics.plant:8080 --token T > config/site.json",
        "gateside discover --url http://analytics.plant:8080 --token-file token --merge config/site.json --out config/site.json --kinds 9=currentV2 --clamp 100",
        "gateside discover --url http://analytics.plant:8080 --token-file token --gateway http://192.168.1.10 --clamp 100 --out config/site.json",
      ],
      load: () => import("./command.ts"),
    },
  ],
  after: { operations: "/api/v1/setup/uplinks/test", commands: "export" },
} as const satisfies FeatureSpec;
