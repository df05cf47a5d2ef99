import {
  INTEGER,
  ISO,
  list,
  MS,
  map,
  NUMBER,
  object,
  oneOf,
  orNull,
  ref,
  TEXT,
  YES_NO,
} from "./api-response-schema.ts";
import type { Schema } from "./api-schemas.ts";

const FAULTS = list(object({ place: TEXT, problem: TEXT, remedy: TEXT }));

const SETUP_FILE = object({
  path: TEXT,
  trouble: { ...orNull(TEXT), description: "Why it cannot be saved." },
});
const ANYTHING: Schema = { type: ["object", "null"], additionalProperties: true };

/** Complete responses of set-up, by the names that the operations use. */
export const SETUP_RESPONSE = {
  setupSite: object({
    hash: TEXT,
    site: { type: ["object", "null"], additionalProperties: true },
    text: orNull(TEXT),
  }),
  setup: object({
    isNamed: { ...YES_NO, description: "False before the first site file." },
    sensors: INTEGER,
    mayChange: { ...YES_NO, description: "False for HTTP_VIEW_TOKEN." },
    site: SETUP_FILE,
    uplinks: { ...orNull(SETUP_FILE), description: "Null if UPLINKS_FILE is not set." },
  }),
  setupSchemas: object({ site: ANYTHING, uplinks: ANYTHING }),
  setupUplinks: object({ hash: TEXT, isBlank: YES_NO, content: ANYTHING }),
  setupUplinksVersion: object({ version: INTEGER, content: ANYTHING, changes: list(TEXT) }),
  setupProbe: object({
    day: TEXT,
    records: INTEGER,
    durationMs: NUMBER,
    error: { ...orNull(TEXT), description: "Why nothing could be read." },
    reading: orNull(
      object({
        id: TEXT,
        time: ISO,
        values: map({}),
        units: map(TEXT),
        quality: map({}),
        raw: {},
      }),
    ),
    messages: list(object({ topic: TEXT, qos: INTEGER, retain: YES_NO, payload: TEXT })),
  }),
  setupStates: object({
    reads: list(
      object({
        source: TEXT,
        time: orNull(ISO),
        values: list(
          object(
            {
              name: TEXT,
              value: {},
              unit: orNull(TEXT),
              quality: TEXT,
              otherOrder: { ...orNull(NUMBER), description: "With the words swapped." },
            },
            ["otherOrder"],
          ),
        ),
        error: { ...orNull(TEXT), description: "Why there are no values." },
      }),
    ),
  }),
  setupTried: object({ addresses: list(object({ url: TEXT, ok: YES_NO, detail: TEXT })) }),
  setupDiscovery: object({
    state: oneOf(["none", "running", "failed", "found"]),
    detail: TEXT,
    devices: INTEGER,
  }),
  setupDraft: object({
    sensors: { ...list({ type: "object" }), description: "Not in the site file yet." },
    kept: INTEGER,
    notes: list(TEXT),
    types: list(object({ type: INTEGER, count: INTEGER, example: TEXT })),
  }),
  setupCheck: object({ faults: FAULTS, warnings: FAULTS, changes: list(TEXT) }),
  setupSaved: object({ hash: TEXT, report: ref("ReloadReport") }),
  setupVersions: object({
    versions: list(object({ version: INTEGER, replacedAtMs: MS, replacedBy: TEXT, hash: TEXT })),
  }),
  setupVersion: object({
    version: INTEGER,
    site: { type: ["object", "null"], additionalProperties: true },
    text: TEXT,
    changes: list(TEXT),
  }),
} satisfies Readonly<Record<string, Schema>>;
