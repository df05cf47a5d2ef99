/** A machine as it is published (plant section 25): what the API says of it, in the topic's words. Pure. */

import type { RankedMachine } from "../../../core/condition/shown.ts";
import { machineArea, type SiteMachine } from "../../../core/site-machines.ts";

/** The outlook that begins first. */
export interface OutlookSpan {
  readonly sensor: string;
  readonly value: string;
  /** ISO. */
  readonly from: string;
  readonly to: string | null;
}

/** A machine whose condition was computed. */
export interface PublishedMachine {
  readonly machine: SiteMachine;
  readonly members: Omit<RankedMachine, "order">;
  readonly outlook: OutlookSpan | null;
}

/** All members but the time, in their order. @param isCompact without names and texts */
function content({ machine, members, outlook }: PublishedMachine, isCompact: boolean) {
  const { condition, reason, since, sinceAtLeast, running, speedRpm, zone, stage } = members;
  const { acknowledged, alarmCount, changed, activeFindings } = members;
  const { sensor, value, from, to } = outlook ?? {};
  const untold = <T extends { readonly text: string }>({ text: _text, ...rest }: T) => rest;
  return {
    ...(isCompact ? {} : { reason }),
    since,
    sinceAtLeast,
    running,
    speedRpm,
    zone,
    stage,
    acknowledged,
    alarmCount,
    changed: isCompact && changed !== null ? untold(changed) : changed,
    activeFindings: isCompact ? activeFindings.map(untold) : activeFindings,
    outlook: outlook && { sensor, value, from, to },
    head: {
      machine: machine.id,
      ...(isCompact ? {} : { name: machine.name, area: machineArea(machine) }),
    },
    condition,
  };
}

/** @param timeMs of the message */
export function machinePayload(
  site: string,
  published: PublishedMachine,
  timeMs: number,
  isCompact: boolean,
): string {
  const { head, condition, ...rest } = content(published, isCompact);
  const time = new Date(timeMs).toISOString();
  return JSON.stringify({ v: 1, site, ...head, time, condition, ...rest });
}

/** Two texts: with another `change` a message is sent soon, with another `rest` alone seldom. */
export interface MachineKeys {
  readonly change: string;
  readonly rest: string;
}

const day = (iso: string | null) => iso?.slice(0, "2026-11-20".length) ?? null;

export function machineKeys(published: PublishedMachine, isCompact: boolean): MachineKeys {
  const { condition, zone, stage, running, acknowledged, alarmCount, since, activeFindings } =
    published.members;
  const { outlook } = published;
  const findings = activeFindings
    .map((found) => [found.sensor, found.finding, found.bearing, found.stage].join(" "))
    .sort();
  const days = outlook === null ? null : [day(outlook.from), day(outlook.to)];
  return {
    change: JSON.stringify([
      condition,
      zone,
      stage,
      running,
      acknowledged,
      alarmCount.alarm,
      alarmCount.warning,
      since,
      findings,
      days,
    ]),
    rest: JSON.stringify(content(published, isCompact)),
  };
}
