/** Parts of an uplinks file as they are written, before anything is known of their shape. */
import type { JsonObject } from "../core/record.ts";
import { texts } from "./site-parts.ts";

export const text = (value: unknown): string | undefined =>
  typeof value === "string" ? value : undefined;

export const formatsOf = (uplink: JsonObject): readonly string[] =>
  Array.isArray(uplink["formats"]) ? texts(uplink["formats"]) : ["json"];
