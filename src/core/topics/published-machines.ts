/** Topics of machines (plant section 25). */

import type { Site } from "../site.ts";
import { type SiteMachine, selectsMachine, siteMachines } from "../site-machines.ts";
import { type PlatformTopics, type PublishedTopic, row, type TopicPlan } from "./published-row.ts";
import type { Topics } from "./topics.ts";

/** Those of the uplink; none while alarms are disabled. */
export function planMachines(plan: TopicPlan, site: Site): readonly SiteMachine[] {
  if (plan.machines !== true || plan.alarms === false) return [];
  return siteMachines(site).filter((machine) => selectsMachine(plan.select, machine));
}

export const MACHINE_VALUES = {
  condition: "string",
  zone: "string",
  running: "boolean",
  stage: "number",
} as const;

export function machineTopics(
  plan: TopicPlan,
  topics: Topics,
  site: Site,
  platform: PlatformTopics | null,
): PublishedTopic[] {
  return planMachines(plan, site).flatMap((machine) => {
    const topic = topics.machine(machine);
    const stream = `machine ${machine.id}`;
    const plain = Object.entries(MACHINE_VALUES).map(([value, type]) =>
      row({
        format: "plain",
        topic: `${topic}/${value}`,
        stream: `${value} of machine ${machine.id}`,
        value,
        type,
        retained: true,
      }),
    );
    return [
      ...(plan.formats.includes("json")
        ? [row({ format: "json", topic, stream, retained: true })]
        : []),
      ...(plan.formats.includes("plain") ? plain : []),
      ...(platform?.ofMachine?.(site, machine) ?? []),
    ];
  });
}
