/** What a command reads by the API: of the running agent, or of a stopped one, from its store. */
import { existsSync } from "node:fs";
import { join } from "node:path";
import { openStoppedAgent, type StoppedAgent } from "../agent/stopped-agent.ts";
import type { UnboundSettings } from "../config/settings.ts";
import { parsedJson } from "../core/parsed-json.ts";
import { silentLogger } from "../lib/logger.ts";
import { StoreFailure } from "../pipeline/store/database/store-failure.ts";
import { AgentFailure, createAgentClient, givenAddress, refusalIn } from "./agent-client.ts";
import type { CommandContext } from "./command.ts";
import { loadConfiguration, UNHEARD } from "./configuration.ts";

export interface AgentReads {
  /** Throws AgentFailure. The type is that of our own operation. */
  get<T>(path: string, timeoutMs?: number): Promise<T>;
  close(): Promise<void>;
}

/** The agent of the flag `--url`, which then must run, or of the settings. */
export function agentOrStore(context: CommandContext, settings: UnboundSettings): AgentReads {
  const { flags, signal } = context;
  const url = givenAddress(flags.text("url"));
  const client = createAgentClient(settings, url);
  let isRunning = false;
  let stopped: StoppedAgent | null = null;
  return {
    async get<T>(path: string, timeoutMs?: number): Promise<T> {
      try {
        if (stopped !== null) return await answerOf(stopped, path);
        const answer = await client.get<T>(path, signal, timeoutMs);
        isRunning = true;
        return answer;
      } catch (error) {
        const isStopped = error instanceof AgentFailure && error.code !== "refused";
        const hasStore = existsSync(join(settings.dataDir, "gateside.db"));
        if (!isStopped || isRunning || url !== null || !hasStore) throw error;
        stopped = await openStopped(context);
        return answerOf(stopped, path);
      }
    },
    close: async () => stopped?.close(),
  };
}

async function openStopped(context: CommandContext): Promise<StoppedAgent> {
  // Warnings about the settings have been printed.
  const configuration = loadConfiguration({ ...context, stderr: UNHEARD });
  try {
    return await openStoppedAgent({ ...configuration, logger: silentLogger });
  } catch (cause) {
    if (!(cause instanceof StoreFailure)) throw cause;
    throw new AgentFailure("unreachable", cause.message, { cause });
  }
}

async function answerOf<T>(agent: StoppedAgent, path: string): Promise<T> {
  const { status, text } = await agent.answer(path);
  const body = parsedJson(text);
  if (status > 299) throw new AgentFailure("refused", refusalIn(body) ?? text, { status });
  return body as T;
}
