/** Settings for sensors, queued on the gateway: over MQTT, HTTP, by command, and for other parts of the agent. */
import type { FlagSpec } from "../../cli/command.ts";
import { ENVIRONMENT_FLAG } from "../../cli/environment-flag.ts";
import { JSON_FLAG, SENSOR_FLAG } from "../../cli/shared-flags.ts";
import type { Refining } from "../../config/refining.ts";
import type { RawOf, SettingSpec } from "../../config/setting-spec.ts";
import { SETTINGS_BOUNDS, SETTINGS_OPERATION_NAMES, STORE_HELD } from "../../core/command.ts";
import {
  INTEGER,
  input,
  named,
  object,
  oneOf,
  optional,
  orNull,
  type Schema,
  TEXT,
  YES_NO,
} from "../../core/schema.ts";
import type { Operation } from "../../http/api-operation.ts";
import { integer } from "../../http/api-schemas.ts";
import type { FeatureSpec } from "../feature.ts";

const COMMANDS_SETTINGS = {
  GATEWAY_SETTINGS_OPERATION: {
    type: "choice",
    choices: SETTINGS_OPERATION_NAMES,
    default: "saveSettings",
    doc: "Operation that queues sensor settings. UpdateConfig is deprecated, exists only on generation 1, and has its own rules.",
  },
} as const satisfies Record<string, SettingSpec>;

type Raw = RawOf<typeof COMMANDS_SETTINGS> & { readonly GATEWAY_GENERATION: string };

function refine(raw: Raw, { note }: Pick<Refining, "note">) {
  if (raw.GATEWAY_SETTINGS_OPERATION === "UpdateConfig" && raw.GATEWAY_GENERATION !== "1") {
    note({
      place: "GATEWAY_SETTINGS_OPERATION",
      problem: "UpdateConfig does not exist on a gateway of generation 2",
      remedy: "use saveSettings, or set GATEWAY_GENERATION=1 if the gateway is of that generation",
    });
  }
  return {};
}

/**
 * The command room checks the fields and limits of contract section 8, names what is wrong, responds as over MQTT and
 * records every command; only what is not a request at all is refused here.
 */
const ANY_SETTINGS: Schema<Readonly<Record<string, unknown>>> = {
  type: "object",
  maxProperties: 20,
};

function whole(
  name: "IntervalSendData" | "Range" | "IntervalRMS",
  description: string,
): Schema<number> {
  const { min, max } = SETTINGS_BOUNDS[name];
  return { ...integer(min, max), description };
}

function alarm(axis: number): Schema<number> {
  const { min, max } = SETTINGS_BOUNDS.alarm;
  const description = `Alarm threshold of axis ${axis}, mm/s.`;
  return { type: "number", minimum: min, maximum: max, description };
}

/** Outcome of a sensor-setting command, as contract section 8 names it. */
const SETTINGS_OUTCOME = named(
  "SettingsOutcome",
  object({
    ok: YES_NO,
    outcome: oneOf(["rejected_local", "rejected_service", "queued", "unknown"]),
    statusNumber: orNull(INTEGER),
    description: TEXT,
    reason: optional(oneOf([STORE_HELD])),
  }),
);

export const SETTINGS_FIELDS = [
  "sensor",
  "IntervalSendData",
  "Range",
  "IntervalRMS",
  "alarm1",
  "alarm2",
  "alarm3",
] as const;

export const SEND_SETTINGS = {
  path: "/api/v1/settings",
  method: "post",
  summary:
    "Queues settings for a sensor on the gateway. A request that violates the schema gets the outcome `rejected_local` and is recorded.",
  body: input(
    {
      sensor: {
        type: ["string", "integer"],
        pattern: "^\\s*\\d{1,15}\\s*$",
        minimum: 0,
        maximum: 999_999_999_999_999,
        description: "Serial number of a sensor in the site file.",
      },
      IntervalSendData: whole("IntervalSendData", "Minutes between full data sends."),
      Range: whole("Range", "Measuring range, G; the gateway knows which ones the sensor has."),
      IntervalRMS: whole("IntervalRMS", "Seconds between alarm checks."),
      alarm1: alarm(1),
      alarm2: alarm(2),
      alarm3: alarm(3),
    },
    SETTINGS_FIELDS,
  ),
  accepts: ANY_SETTINGS,
  also: { 501: "Not available in this agent." },
  response: "The outcome, including that of a refusal. `queued` does not mean applied.",
  schema: SETTINGS_OUTCOME,
} as const satisfies Operation;

const SETTINGS_FLAGS: readonly FlagSpec[] = [
  { ...SENSOR_FLAG, required: true },
  {
    name: "interval-send-data",
    value: "MIN",
    doc: "minutes between full data sends, at least 10",
    required: true,
  },
  { name: "range", value: "G", doc: "measuring range, G", required: true },
  {
    name: "interval-rms",
    value: "S",
    doc: "seconds between alarm checks, at least 30",
    required: true,
  },
  {
    name: "alarm1",
    value: "MMS",
    doc: "alarm threshold of axis 1, mm/s, at least 0.5",
    required: true,
  },
  { name: "alarm2", value: "MMS", doc: "the same for axis 2", required: true },
  { name: "alarm3", value: "MMS", doc: "the same for axis 3", required: true },
  JSON_FLAG,
  ENVIRONMENT_FLAG,
];

export const COMMANDS_SPEC = {
  name: "commands",
  settings: COMMANDS_SETTINGS,
  refine,
  operations: [SEND_SETTINGS],
  commands: [
    {
      name: "settings",
      summary: "queue sensor settings on the gateway",
      details:
        "Uses the running agent if one responds; otherwise contacts the gateway directly. The gateway queues the settings until the sensor next contacts it.\nExit code 0 if queued, 1 if not.",
      flags: SETTINGS_FLAGS,
      examples: [
        "gateside settings --sensor 10234 --interval-send-data 60 --range 8 --interval-rms 60 --alarm1 4.5 --alarm2 4.5 --alarm3 4.5",
      ],
      load: () => import("./command.ts"),
    },
  ],
  after: { settings: "GATEWAY_GENERATION", operations: "/api/v1/backfill", commands: "export" },
} as const satisfies FeatureSpec;
