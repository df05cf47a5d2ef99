/** Measurements that stay for years: the best of each day, week and month, those of alarms and baselines, and what people pin (plant section 19). */
import { input, object, orNull, TEXT, YES_NO } from "../../core/schema.ts";
import type { Operation } from "../../http/api-operation.ts";
import { MEASUREMENT_ID, orNone } from "../../http/api-schemas.ts";
import type { FeatureSpec } from "../feature.ts";
import { createKeeper } from "./keeper.ts";

const PIN_BODY = input({ note: { ...TEXT, maxLength: 500, default: "" } });
const PINNED = object({ pinned: YES_NO, note: orNull(TEXT) });

export const PIN = {
  path: "/api/v1/sensors/{code}/measurements/{reading}/pin",
  method: "post",
  summary: "Pins a measurement, so that it stays; again, to change the note. Audited.",
  params: MEASUREMENT_ID,
  body: PIN_BODY,
  accepts: orNone(PIN_BODY),
  also: {
    404: "No reading of this id.",
    409: "Its samples are not stored any more.",
    507: "No room: 500 pins, or what must stay fills its quarter of the buffer.",
  },
  response: "Pinned.",
  schema: PINNED,
} as const satisfies Operation;

export const UNPIN = {
  path: "/api/v1/sensors/{code}/measurements/{reading}/pin",
  method: "delete",
  summary: "Removes the pin of a measurement. Audited.",
  params: MEASUREMENT_ID,
  also: { 404: "No reading of this id.", 409: "Its samples are not stored any more." },
  response: "Not pinned.",
  schema: PINNED,
} as const satisfies Operation;

export const KEPT_SPEC = {
  name: "kept",
  keep: createKeeper,
  operations: [PIN, UNPIN],
  after: { operations: "/api/v1/sensors/{code}/measurements/{reading}" },
} as const satisfies FeatureSpec;
