/** What is tried before it is saved: what may be sent for it, and how it is refused. */
import type { FastifyReply } from "fastify";
import type { Refused } from "../core/configuration/setup.ts";
import { OBJECT, type Schema } from "../core/schema.ts";
import { SETUP_OFF } from "./api-operation.ts";
import { refuse, refuseFaulty } from "./problem.ts";

export const SENSOR_ENTRY: Schema<{ readonly code?: unknown }> = {
  ...OBJECT,
  description: "A sensor as in the site file.",
};
export const TRY_REFUSED = {
  ...SETUP_OFF,
  409: "Another one is running.",
  422: "There are errors; the response lists them with their locations. Nothing was tried.",
} as const;

export function refuseTrial(reply: FastifyReply, refused: Refused): FastifyReply {
  if ("busy" in refused) return refuse(reply, 409, refused.busy);
  return refuseFaulty(reply, "there are errors; nothing was tried", refused.faults);
}
