import { randomUUID } from "node:crypto";
import type { Plant } from "./plant.ts";

/** What the broker retains there: a subscription is granted before its retained messages come, and all of them come before a later message. */
export async function retainedAt(plant: Plant, topics: readonly string[]) {
  const end = `end/${randomUUID()}`;
  const late = await plant.subscribe({ topics: [...topics, end] });
  await late.publish(end, "");
  await late.waitFor(({ topic }) => topic === end);
  await late.close();
  return late.messages.filter(({ topic }) => topic !== end);
}
