/** The messages about machines in each profile (plant sections 25 and 28). */

import { CONDITIONS } from "../../core/condition/words.ts";
import type { Message } from "../../core/message.ts";
import type { SiteSource } from "../../core/site-source.ts";
import type { Topics } from "../../core/topics/topics.ts";
import type { Uplink } from "../../core/uplink.ts";
import type { MachineMessages, ProfileSpec } from "../formats.ts";
import { machinePayload, type PublishedMachine } from "./rules/machine-payload.ts";

interface MessageParts {
  readonly topics: Topics;
  readonly site: SiteSource;
  readonly version: string;
}

type MachineUplink = Pick<Uplink, "clientId" | "compact" | "formats" | "retain">;

const PLAIN = ["condition", "zone", "running", "stage"] as const;

/** @param ofPlatform by default our own topics */
export function createMachineMessages(
  uplink: MachineUplink,
  parts: MessageParts,
  ofPlatform?: ProfileSpec["machines"],
): MachineMessages<PublishedMachine> {
  const own = gateside(uplink, parts);
  if (ofPlatform === undefined) return own;
  const payload = (published: PublishedMachine, timeMs: number) =>
    machinePayload(parts.site.current.site, published, timeMs, uplink.compact);
  return ofPlatform({ ...parts, uplink, conditions: CONDITIONS, payload }, own);
}

const json = (topic: string, payload: string, retain: boolean): Message => ({
  topic,
  payload,
  qos: 1,
  retain,
  contentType: "application/json",
});

function gateside(
  { compact, formats, retain }: MachineUplink,
  { topics, site }: MessageParts,
): MachineMessages<PublishedMachine> {
  const hasJson = formats.includes("json");
  const hasPlain = formats.includes("plain");
  return {
    describe: () => [],
    state(published, timeMs) {
      const topic = topics.machine(published.machine);
      const payload = () => machinePayload(site.current.site, published, timeMs, compact);
      const { members } = published;
      return [
        ...(hasJson ? [json(topic, payload(), retain)] : []),
        ...(hasPlain ? PLAIN : []).map(
          (name): Message => ({
            topic: `${topic}/${name}`,
            payload: String(members[name] ?? (name === "stage" ? 0 : "")),
            qos: 1,
            retain,
          }),
        ),
      ];
    },
    place: (machine) => topics.machine(machine),
    farewell: () => [],
    retained(machine) {
      if (!retain) return [];
      const topic = topics.machine(machine);
      return [
        ...(hasJson ? [topic] : []),
        ...(hasPlain ? PLAIN.map((name) => `${topic}/${name}`) : []),
      ];
    },
  };
}
