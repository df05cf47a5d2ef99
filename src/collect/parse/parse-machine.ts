/** What a box says of a machine (plant section 25). */
import { createHash } from "node:crypto";
import { isJsonObject } from "../../core/record.ts";
import type { MachineItem } from "./item.ts";
import {
  type Body,
  checkName,
  cutText,
  objectMember,
  optionalCount,
  optionalNumber,
  optionalTime,
  requiredText,
  requiredTime,
  WrongMember,
} from "./members.ts";

const CONDITIONS = ["alarm", "warning", "watch", "unknown", "standing", "ok"];
const ZONES = ["A", "B", "C", "D"];
/** A sentence for people may be longer than a name. */
const REASON_LENGTH_MAX = 2_000;

export const isMachine = (body: Body) =>
  body["machine"] !== undefined &&
  body["condition"] !== undefined &&
  body["alarmCount"] !== undefined;

export function parseMachine(site: string, body: Body): MachineItem {
  checkName(site, "site");
  const machine = optionalCount(body, "machine");
  if (machine === null) throw new WrongMember("machine is missing");
  const condition = requiredText(body, "condition");
  if (!CONDITIONS.includes(condition)) throw new WrongMember("condition is not one of six words");
  const zone = body["zone"] ?? null;
  if (zone !== null && !ZONES.some((one) => one === zone))
    throw new WrongMember("zone is not a letter from A to D");
  const stage = optionalCount(body, "stage");
  if (stage !== null && stage > 3) throw new WrongMember("stage is not 1, 2 or 3");
  const reason = body["reason"] ?? null;
  if (reason !== null && typeof reason !== "string") throw new WrongMember("reason is not text");
  const counts = objectMember(body, "alarmCount");
  const [alarms, warnings] = ["alarm", "warning"].map((name) => count32(counts, name));
  const sinceMs = optionalTime(body, "since");
  const findings = Array.isArray(body["activeFindings"]) ? body["activeFindings"] : [];
  const outlook = body["outlook"] ? objectMember(body, "outlook") : null;
  const running = yesNo(body, "running");
  const acknowledged = yesNo(body, "acknowledged") ?? false;
  const kept = {
    condition,
    zone: typeof zone === "string" ? zone : null,
    stage,
    running,
    acknowledged,
  };
  const key = JSON.stringify([
    ...Object.values(kept),
    alarms,
    warnings,
    sinceMs,
    findings.map(findingOf).sort(),
    outlook === null ? null : [dayOf(outlook["from"]), dayOf(outlook["to"])],
  ]);
  return {
    type: "machine",
    site,
    machine,
    body: {
      ...kept,
      atMs: requiredTime(body, "time"),
      name: cutText(body, "name"),
      area: cutText(body, "area"),
      reason: reason?.slice(0, REASON_LENGTH_MAX) ?? null,
      sinceMs,
      sinceAtLeast: yesNo(body, "sinceAtLeast"),
      speedRpm: optionalNumber(body, "speedRpm"),
      alarms: alarms ?? 0,
      warnings: warnings ?? 0,
      changed: body["changed"] ? JSON.stringify(objectMember(body, "changed")) : null,
      findings: JSON.stringify(findings),
      outlook: outlook === null ? null : JSON.stringify(outlook),
      key: createHash("md5").update(key).digest("hex"),
    },
  };
}

function yesNo(body: Body, name: string): boolean | null {
  const value = body[name] ?? null;
  if (value !== null && typeof value !== "boolean")
    throw new WrongMember(`${name} is neither true nor false`);
  return value;
}

function count32(body: Body, name: string): number {
  const count = optionalCount(body, name) ?? 0;
  if (count > 0x7fffffff) throw new WrongMember(`alarmCount.${name} is too large`);
  return count;
}

const findingOf = (found: unknown) =>
  isJsonObject(found)
    ? JSON.stringify([found["sensor"], found["finding"], found["bearing"], found["stage"]])
    : "";

const dayOf = (time: unknown) => (typeof time === "string" ? time.slice(0, 10) : null);
