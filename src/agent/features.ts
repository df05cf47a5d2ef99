/** What the running features add to the agent's parts. */
import type { AgentStatus } from "../core/agent-status.ts";
import { type BoxFault, boxFaults } from "../core/status/box-fault.ts";
import type { Features } from "../features/all.ts";
import type { Feature, FeatureSpec } from "../features/feature.ts";
import { SPECS } from "../features/specs.ts";
import { refused, type ServedOperation } from "../http/api-operation.ts";
import type { HttpParts, HttpSources } from "../http/parts.ts";
import { inTurns } from "../lib/in-turns.ts";
import type { WantedTones } from "../pipeline/signal/tones.ts";
import type { ReadingSide } from "./reading-side.ts";

/** Reads what they need of the store. */
export async function beginFeatures({
  features,
  watch,
}: Pick<ReadingSide, "watch"> & { readonly features: readonly Feature[] }) {
  watch.open();
  for (const feature of features) if (feature.begin !== undefined) await inTurns(feature.begin());
}

/** The sources of HTTP with the operations of features. */
export function withFeatures(sources: HttpSources, features: Features): HttpParts {
  const { running, outlooks, alarmCounts, isSetupOn } = features;
  const metricText = async (site: string) =>
    (
      await Promise.all(running.map(async (feature) => (await feature.metricText?.(site)) ?? ""))
    ).join("");
  const routes = running.flatMap((feature) => feature.routes ?? []);
  return {
    ...sources,
    operations: operationsOf(running),
    routes,
    outlooks,
    alarmCounts,
    metricText,
    isSetupOn,
  };
}

/** Which tones they need of acceleration records. */
export function tonesFor(running: readonly Feature[], sensor: string): WantedTones {
  const wanted = running.map((feature) => feature.wantedTones?.(sensor) ?? false);
  return wanted.find((one) => one === true) ?? wanted.find((one) => one !== false) ?? false;
}

/** Every operation of the features: those of features that are off refuse. */
export function operationsOf(running: readonly Feature[]): readonly ServedOperation[] {
  const operations = running.flatMap(({ serve = [] }) => serve);
  const isServed = new Set(operations.map(({ operation }) => operation));
  const off = SPECS.flatMap((spec: FeatureSpec) => {
    const answer = spec.off ?? { status: 501, message: `${spec.name} is off` };
    return (spec.operations ?? [])
      .filter((operation) => !isServed.has(operation))
      .map((operation) => refused(operation, answer));
  });
  return [...operations, ...off];
}

/** Members of the status; null for features that are off. */
export function statusOf(running: readonly Feature[]): object {
  const members = SPECS.flatMap(({ status }: FeatureSpec) => Object.keys(status?.members ?? {}));
  const off = Object.fromEntries(members.map((member) => [member, null]));
  return Object.assign(off, ...running.map((feature) => feature.status?.()));
}

/** What is wrong with the box itself. */
export const faultsOf = (status: AgentStatus): readonly BoxFault[] => [
  ...boxFaults(status),
  ...SPECS.flatMap((spec: FeatureSpec) => spec.status?.fault?.(status) ?? []),
];
