/** How the agent is asked: its errors, the session that its responses tell of, time limits. */
import { isJsonObject } from "../core/record.ts";
import { noResponse } from "./no-response.ts";
import type { Asking } from "./refresh.ts";
import { askedEarly, request, TIMEOUT_MS, withoutLogin } from "./request.ts";

/** The agent responded with an error. */
export class ApiError extends Error {
  override readonly name = "ApiError";
  readonly status: number;
  constructor(status: number, message: string) {
    super(message);
    this.status = status;
  }
}

/** What becomes of the page's access. */
export interface AccessHooks {
  /** The agent no longer accepts the session. */
  readonly onSignedOut: () => void;
  /** Whenever it does. */
  readonly onSignedIn: () => void;
  /** A proxy in front of the agent wants people to sign in there: it redirects, which the agent never does. */
  readonly onRedirected: () => void;
}

export interface WholeResponse<T> {
  readonly status: number;
  readonly body: T;
}

export class AgentAccess {
  readonly #hooks: AccessHooks;
  /** True once the agent said that this page signed in, so that it can offer to sign out. */
  hasSession = false;
  /** False once the agent said that this page may only look. */
  mayChange = true;
  /** Whom a proxy in front of the agent names. */
  person: string | null = null;

  constructor(hooks: AccessHooks) {
    this.#hooks = hooks;
  }

  /** What changes something; an error response is returned with its body. Rejects if there is no response. */
  send<T = unknown>(
    method: "POST" | "PUT" | "DELETE",
    path: string,
    body?: object,
    options: { readonly ifMatch?: string; readonly timeoutMs?: number } = {},
  ): Promise<WholeResponse<T>> {
    return this.#whole(path, {
      method,
      headers: {
        accept: "application/json",
        ...(body !== undefined && { "content-type": "application/json" }),
        ...(options.ifMatch !== undefined && { "if-match": `"${options.ifMatch}"` }),
      },
      ...(body !== undefined && { body: JSON.stringify(body) }),
      signal: AbortSignal.timeout(options.timeoutMs ?? TIMEOUT_MS),
    });
  }

  /** As `get`, but an error response is returned with its body. */
  read<T>(path: string, asking: Asking): Promise<WholeResponse<T>> {
    return this.#whole(path, { signal: either(asking, AbortSignal.timeout(TIMEOUT_MS)) });
  }

  async #whole<T>(path: string, options: RequestInit): Promise<WholeResponse<T>> {
    const response = await request(path, options).catch(rethrow);
    this.#readVersionHeaders(response);
    const result: T = await response.json().catch(() => null);
    return { status: response.status, body: result };
  }

  async signOut(): Promise<void> {
    await fetch(withoutLogin("sign-out"), { method: "POST", credentials: "same-origin" });
  }

  /** Every response says whether the page is signed in, and with which token. */
  #readVersionHeaders({ status, headers, type }: Response): void {
    if (type === "opaqueredirect") {
      this.#hooks.onRedirected();
      throw new Error("the session of the proxy in front of the agent has ended. Sign in there.");
    }
    if (status === 401) return this.#hooks.onSignedOut();
    this.#hooks.onSignedIn();
    if (headers.has("x-gateside-session")) this.hasSession = true;
    const role = headers.get("x-gateside-role");
    if (role !== null) this.mayChange = role === "all";
    const person = headers.get("x-gateside-person");
    if (person !== null) this.person = decodeURIComponent(person);
  }

  async get<T>(
    path: string,
    query: Readonly<Record<string, string | number | boolean>>,
    asking: Asking,
  ): Promise<T> {
    const search = new URLSearchParams(
      Object.entries(query).map(([name, value]): [string, string] => [name, String(value)]),
    ).toString();
    const limit = AbortSignal.timeout(TIMEOUT_MS);
    const asked = `${path}${search === "" ? "" : `?${search}`}`;
    const ending = { signal: either(asking, limit) };
    const response = await (askedEarly(asked) ?? request(asked, ending)).catch(rethrow);
    this.#readVersionHeaders(response);
    if (!response.ok) throw new ApiError(response.status, await problemText(response));
    return await response.json().catch(rethrow);
  }
}

function rethrow(error: unknown): never {
  throw noResponse(error);
}

/** Aborts with either signal. A wall display runs for weeks: `AbortSignal.any` of the browser drops signals that ended. */
function either(a: AbortSignal, b: AbortSignal): AbortSignal {
  if ("any" in AbortSignal) return AbortSignal.any([a, b]);
  const controller = new AbortController();
  for (const signal of [a, b]) {
    if (signal.aborted) controller.abort(signal.reason);
    signal.addEventListener("abort", () => controller.abort(signal.reason), { once: true });
  }
  return controller.signal;
}

async function problemText(response: Response): Promise<string> {
  return refusalText(await response.json().catch(() => null));
}

/** The message of an error response. */
export function refusalText(body: unknown): string {
  const error = isJsonObject(body) ? body["error"] : null;
  const message = isJsonObject(error) ? error["message"] : null;
  return typeof message === "string" ? message : "the agent returned no reason";
}
