import { MACHINES } from "../../core/condition/shown.ts";
import { input } from "../../core/schema.ts";
import {
  ALARMS_OFF,
  BUSY,
  type Operation,
  type ServedOperation,
  served,
} from "../../http/api-operation.ts";
import { choice } from "../../http/api-schemas.ts";
import { refuse } from "../../http/problem.ts";
import type { FindingViews } from "../diagnosis/api.ts";
import type { MachineConditions } from "./machine-conditions.ts";

export const MACHINE_LIST = {
  path: "/api/v1/machines",
  method: "get",
  summary:
    "Machines of the site file with state, speed and number of active findings; with `sort=worst` every machine with its condition, worst first.",
  query: input({
    sort: {
      ...choice(["worst"]),
      description: "Every machine with its condition, worst first; also while alarms are disabled.",
    },
  }),
  also: { ...ALARMS_OFF, ...BUSY },
  response: "The machines.",
  schema: MACHINES,
} as const satisfies Operation;

/** @param findings null: ALARMS_ENABLED is false; the list by condition is answered all the same */
export const servedMachines = (
  conditions: Pick<MachineConditions, "worstFirst">,
  findings: FindingViews | null,
): ServedOperation =>
  served(MACHINE_LIST, async (request, reply, responses) => {
    if (request.query.sort !== undefined)
      return responses.send(request, reply, "machines worst", async () =>
        JSON.stringify({ machines: await conditions.worstFirst() }),
      );
    return findings === null
      ? refuse(reply, 501, "findings are off: ALARMS_ENABLED is false")
      : reply.send({ machines: findings.machines() });
  });
