/** HTTP client of the running agent (contract section 7), for the commands that work through it. */

import { accessSync, constants, existsSync } from "node:fs";
import type { Settings } from "../config/settings.ts";
import { parsedJson } from "../core/parsed-json.ts";
import { isJsonObject } from "../core/record.ts";
import { withoutTrailing } from "../core/text/text-ends.ts";
import { messageOf } from "../core/thrown.ts";
import { agentSocketPath, nativeBinding } from "../lib/paths.ts";
import { withinMs } from "../lib/time-limit.ts";
import { DirectoryLock } from "../pipeline/store/database/directory-lock.ts";
import {
  type AgentRequest,
  type AgentResponse,
  requestAddress,
  requestSocket,
} from "./agent-request.ts";
import { type CommandContext, UsageError } from "./command.ts";
import type { ComparedConfiguration } from "./configuration.ts";
import { flagAddress } from "./flag-address.ts";

/** The agent is on this machine or near it; settings wait for the gateway, so they have their own limit. */
const ANSWER_TIMEOUT_MS = 10_000;

/** No agent responded, or it refused; see `code`. */
export class AgentFailure extends Error {
  readonly code: "no_http" | "unreachable" | "refused";
  /** HTTP status of a refusal; null if there was no response. */
  readonly status: number | null;
  constructor(
    code: AgentFailure["code"],
    message: string,
    { cause, status = null }: { readonly cause?: unknown; readonly status?: number | null } = {},
  ) {
    super(message, cause === undefined ? undefined : { cause });
    this.code = code;
    this.status = status;
  }
}

/** Reports a call that failed; returns the exit code. Throws what is no AgentFailure. */
export function reportFailure(
  error: unknown,
  { flags, stdout, stderr }: Pick<CommandContext, "flags" | "stdout" | "stderr">,
): 1 {
  if (!(error instanceof AgentFailure)) throw error;
  if (flags.has("json")) stdout.write(`${JSON.stringify({ error: error.message })}\n`);
  else stderr.write(`error: ${error.message}\n`);
  return 1;
}

/** Responses have the type that the caller names: they are this program's own, from the other end of the call. */
export interface AgentClient {
  get<T>(path: string, signal: AbortSignal, timeoutMs?: number): Promise<T>;
  post<T>(path: string, body: object, signal: AbortSignal, timeoutMs?: number): Promise<T>;
}

/**
 * `url` null selects the agent that holds DATA_DIR, by its socket there, or otherwise the address in the settings; a
 * call fails with AgentFailure `no_http` if there is neither. HTTP_TOKEN goes to the port only if the agent is known to
 * be the one that listens: by TLS, or because it runs. An `url` is the user's own choice.
 */
export function createAgentClient(
  settings: Pick<Settings, "httpHost" | "httpPort" | "httpToken" | "httpCertFile" | "dataDir">,
  url: string | null = null,
): AgentClient {
  const send = async (
    path: string,
    request: AgentRequest,
  ): Promise<AgentResponse & { at: string }> => {
    const unreachable = (at: string, hint: string) => (cause: unknown) => {
      throw new AgentFailure(
        "unreachable",
        `no agent responds at ${at} (${reason(cause)})${hint}`,
        {
          cause,
        },
      );
    };
    const { dataDir } = settings;
    if (url === null) {
      const overSocket = requestSocket(agentSocketPath(dataDir), path, request);
      const local = await overSocket.catch(unreachable(dataDir, ""));
      if (local !== null) return { ...local, at: dataDir };
    }
    const base = url === null ? addressOf(settings) : withoutTrailing(url, "/");
    const isUnproved = url === null && settings.httpToken !== null && !base.startsWith("https:");
    if (isUnproved && !hasAgent(dataDir))
      throw new AgentFailure(
        "unreachable",
        `no agent is seen to run on ${dataDir}, so HTTP_TOKEN is not sent to ${base}; start the agent, or run this as its user`,
      );
    const named = url === null ? "HTTP_HOST and HTTP_PORT are" : "--url is";
    const hint = `; start it, or check that ${named} the address it listens on`;
    const response = await requestAddress(base + path, {
      ...request,
      certFile: settings.httpCertFile,
    }).catch(unreachable(base, hint));
    return { ...response, at: base };
  };
  const call = async <T>(
    path: string,
    content: string | null,
    signal: AbortSignal,
    limit: number,
  ): Promise<T> => {
    const headers: Record<string, string> = { accept: "application/json" };
    if (settings.httpToken !== null) headers["authorization"] = `Bearer ${settings.httpToken}`;
    if (content !== null) headers["content-type"] = "application/json";
    const { status, statusText, text, at } = await withinMs(signal, limit, (limited) =>
      send(path, { headers, content, signal: limited }),
    );
    const body = parsedJson(text);
    if (status < 200 || status > 299) {
      const hint = status === 401 ? "; set HTTP_TOKEN to the agent's token" : "";
      // Our own refusals say what to do; a response without such a text may be another program's.
      const message = refusalIn(body) ?? `${statusText}; check that this is the agent's address`;
      throw new AgentFailure(
        "refused",
        `the agent at ${at} returned ${status}: ${message}${hint}`,
        {
          status,
        },
      );
    }
    return body as T;
  };
  return {
    get: (path, signal, timeoutMs = ANSWER_TIMEOUT_MS) => call(path, null, signal, timeoutMs),
    post: (path, body, signal, timeoutMs = ANSWER_TIMEOUT_MS) =>
      call(path, JSON.stringify(body), signal, timeoutMs),
  };
}

/** Null if nothing responds; the directory's lock then shows whether an agent runs without HTTP. */
export async function findAgent(
  { settings, site }: ComparedConfiguration,
  signal: AbortSignal,
): Promise<AgentClient | null> {
  try {
    const client = createAgentClient(settings);
    const status = await client.get<unknown>("/api/v1/status", signal);
    const name = isJsonObject(status) ? status["site"] : null;
    // Another program on that port, or another instance's agent, is not the agent that holds this directory.
    return name === site.site ? client : null;
  } catch (error) {
    if (error instanceof AgentFailure && error.code !== "refused") return null;
    throw error;
  }
}

/** The value of --url; throws a UsageError if it is no address, or holds a password, which an agent does not take. */
export function givenAddress(text: string | null): string | null {
  if (text === null) return null;
  const { url, username, password } = flagAddress("url", text);
  if (username !== null || password !== null)
    throw new UsageError("--url contains a user name or password; an agent takes HTTP_TOKEN");
  return url;
}

function addressOf({
  httpHost,
  httpPort,
  httpCertFile,
}: Pick<Settings, "httpHost" | "httpPort" | "httpCertFile">): string {
  if (httpPort === null)
    throw new AgentFailure("no_http", "no agent is running on DATA_DIR, and HTTP_PORT is off");
  if (httpPort === 0)
    throw new AgentFailure(
      "no_http",
      "no agent is running on DATA_DIR, and HTTP_PORT is 0: see the agent's log for the port",
    );
  // An agent that listens on every address is reached on the loopback one, which its Host check accepts.
  const host = httpHost === "0.0.0.0" ? "127.0.0.1" : httpHost === "::" ? "::1" : httpHost;
  const scheme = httpCertFile === null ? "http" : "https";
  return `${scheme}://${host.includes(":") ? `[${host}]` : host}:${httpPort}`;
}

/** `{ error: { message } }`, the form of the HTTP server's refusals. */
export function refusalIn(body: unknown): string | null {
  const error = isJsonObject(body) ? body["error"] : null;
  const message = isJsonObject(error) ? error["message"] : null;
  return typeof message === "string" ? message : null;
}

function reason(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  const cause: unknown = error.cause;
  if (error.name === "TimeoutError") return "no response in time";
  return messageOf(cause instanceof Error ? cause : error);
}

/**
 * Whether what listens at HTTP_PORT is this box's agent: any user of the machine may listen there while it is stopped. True if an agent
 * runs on the directory, or has a socket there that this user may not use.
 */
function hasAgent(dataDir: string): boolean {
  return isDenied(agentSocketPath(dataDir)) || DirectoryLock.isHeld(dataDir, nativeBinding());
}

function isDenied(socketPath: string): boolean {
  if (!existsSync(socketPath)) return false;
  try {
    accessSync(socketPath, constants.R_OK | constants.W_OK);
    return false;
  } catch {
    return true;
  }
}
