/** Topics of machines (plant section 25). */

import type { Site } from "../site.ts";
import { type SiteMachine, selectsMachine, siteMachines } from "../site-machines.ts";
import { discoveryTopic, MACHINE_ENTITIES, machineNode } from "./discovery.ts";
import { type PublishedTopic, row, type TopicPlan } from "./published-row.ts";
import type { Topics } from "./topics.ts";

/** Those of the uplink; none while alarms are disabled. */
function planMachines(plan: TopicPlan, site: Site): readonly SiteMachine[] {
  if (plan.machines !== true || plan.alarms === false) return [];
  return siteMachines(site).filter((machine) => selectsMachine(plan.select, machine));
}

const VALUES = {
  condition: "string",
  zone: "string",
  running: "boolean",
  stage: "number",
} as const;

export function machineTopics(plan: TopicPlan, topics: Topics, site: Site): PublishedTopic[] {
  return planMachines(plan, site).flatMap((machine) => {
    const topic = topics.machine(machine);
    const stream = `machine ${machine.id}`;
    const plain = Object.entries(VALUES).map(([value, type]) =>
      row({
        format: "plain",
        topic: `${topic}/${value}`,
        stream: `${value} of machine ${machine.id}`,
        value,
        type,
        retained: true,
      }),
    );
    const configs = Object.entries(MACHINE_ENTITIES).map(([objectId, component]) =>
      row({
        format: "json",
        topic: discoveryTopic(component, machineNode(site.site, machine.id), objectId),
        stream: `discovery of ${objectId} of machine ${machine.id}`,
        retained: true,
      }),
    );
    return [
      ...(plan.formats.includes("json")
        ? [row({ format: "json", topic, stream, retained: true })]
        : []),
      ...(plan.formats.includes("plain") ? plain : []),
      ...(plan.profile === "homeassistant" ? configs : []),
    ];
  });
}

/** Machines as devices of a platform that names the topics. */
export function fixedMachineTopics(plan: TopicPlan, site: Site): PublishedTopic[] {
  const topic = "v1/gateway/telemetry";
  return planMachines(plan, site).flatMap(({ id }) =>
    [...Object.entries(VALUES), ["alarms", "number"] as const, ["warnings", "number"] as const].map(
      ([value, type]) =>
        row({
          format: "json",
          topic,
          stream: "readings",
          value,
          type,
          path: `${site.site} machine ${id}[].values.${value}`,
        }),
    ),
  );
}
