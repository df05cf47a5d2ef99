import type { FastifyReply } from "fastify";
import { walk } from "../../core/query/walk.ts";
import { served } from "../../http/api-operation.ts";
import { IS_READING_ID } from "../../http/api-schemas.ts";
import { measurementGone, refuse } from "../../http/problem.ts";
import { yieldToLoop } from "../../lib/yield-to-loop.ts";
import type { Keeping } from "../../pipeline/store/keeping.ts";
import type { Feature } from "../feature.ts";
import type { FeatureHost } from "../host.ts";
import type { Wait } from "../machines/api.ts";
import { MachinesOverHistory } from "./measured-machines.ts";
import { type PinOutcome, Pins } from "./pins.ts";
import { PIN, UNPIN } from "./spec.ts";

export function createKept(host: FeatureHost, wait: Wait, keeping: Keeping): Feature {
  keeping.machines = new MachinesOverHistory({
    site: host.site,
    wait,
    history: host.readings.history,
    rest: yieldToLoop,
  });
  const pins = new Pins({ ...host, keeping, isOn: host.settings.waveformDays > 0 });
  type At = { readonly code: string; readonly reading: string };
  const answer = async (reply: FastifyReply, { code, reading }: At, note: string | null) => {
    if (!IS_READING_ID.test(reading)) return measurementGone(reply);
    const outcome = await pins.set(code, reading, note);
    const isGone = outcome === "unknown" && (await hasReading(host, code, reading));
    return pinned(reply, isGone ? "gone" : outcome, note);
  };
  return {
    serve: [
      served(PIN, (request, reply) => {
        const note = request.body?.note ?? "";
        request.auditDetail = note;
        return answer(reply, request.params, note);
      }),
      served(UNPIN, (request, reply) => answer(reply, request.params, null)),
    ],
  };
}

/** A reading without samples is no unknown one. */
async function hasReading({ history }: Pick<FeatureHost, "history">, sensor: string, id: string) {
  const all = { sensor, kind: "accel", fromMs: -8.64e15, toMs: 8.64e15 } as const;
  for await (const one of walk(history, { ...all, order: "descending" }, yieldToLoop))
    if (one.id === id) return true;
  return false;
}

function pinned(reply: FastifyReply, outcome: PinOutcome, note: string | null): FastifyReply {
  switch (outcome) {
    case "done":
      return reply.send({ pinned: note !== null, note });
    case "unknown":
      return measurementGone(reply);
    case "gone":
      return refuse(reply, 409, "the samples of this measurement are not stored any more");
    case "full":
      return refuse(
        reply,
        507,
        "no room for another pin: 500 are pinned, or what must stay fills its quarter of BUFFER_MAX_MB",
      );
  }
}
