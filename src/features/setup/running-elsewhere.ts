/** Whether the box of a backup is running: its `agent/state` at a broker of this box is online under another instance. */

import { hasAgentState } from "../../agent/doctor-publish.ts";
import { trialOptions } from "../../config/broker-options.ts";
import { publicUrl } from "../../core/addresses/public-url.ts";
import { createTopics } from "../../core/topics/topics.ts";
import type { Uplink } from "../../core/uplink.ts";
import { readRetained } from "../../pipeline/link/probe-address.ts";
import { onlineInstance } from "../../pipeline/publish/other-agents.ts";

const CONNECT_MS = 5_000;

interface Elsewhere {
  /** Where it is running; null if no broker shows that. */
  readonly running: string | null;
  /** Brokers that could not be asked, and why. */
  readonly unasked: readonly string[];
}

/** @param own null for a box that never ran @param site of the backup */
export async function runningElsewhere(
  uplinks: readonly Uplink[],
  site: string,
  own: string | null,
  credentialsDirectory: string | null,
  signal: AbortSignal = new AbortController().signal,
): Promise<Elsewhere> {
  const asked = uplinks
    .filter(hasAgentState)
    .map((uplink) => ask(uplink, site, credentialsDirectory, signal));
  const answers = await Promise.all(asked);
  const online = answers.find(({ instance }) => instance !== null && instance !== own);
  return {
    running:
      online === undefined
        ? null
        : `an agent (instance ${online.instance}) is online as site ${JSON.stringify(site)} at ${online.url}`,
    unasked: answers.flatMap(({ url, failure }) =>
      failure === null ? [] : [`${url}: ${failure}`],
    ),
  };
}

interface Answer {
  readonly url: string;
  readonly instance: string | null;
  readonly failure: string | null;
}

/** With its own client id, so that the session of a running box goes on; with the uplink's where rights are bound to it. */
async function ask(
  uplink: Uplink,
  site: string,
  credentialsDirectory: string | null,
  signal: AbortSignal,
): Promise<Answer> {
  const topic = createTopics(uplink.topicPrefix, site).agentState;
  let answer: Answer = { url: uplink.name, instance: null, failure: "it has no address" };
  for (const suffix of ["-restore", ""] as const) {
    const options = {
      ...trialOptions(uplink, suffix, credentialsDirectory),
      connectTimeoutMs: CONNECT_MS,
    };
    for (const address of uplink.urls) {
      const url = publicUrl(address);
      const result = await readRetained(options, address, signal, topic);
      if ("payload" in result)
        return { url, instance: result.payload && onlineInstance(result.payload), failure: null };
      const { text } = result.failure;
      answer = { url, instance: null, failure: options.redact?.(text) ?? text };
    }
  }
  return answer;
}
