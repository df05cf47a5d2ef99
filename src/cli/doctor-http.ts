import { createServer } from "node:net";
import { listenFailure } from "../config/listen-failure.ts";
import type { Settings } from "../config/settings.ts";
import type { AgentStatus } from "../core/agent-status.ts";
import type { StoreHold } from "../core/status/store-hold.ts";
import { AgentFailure, createAgentClient } from "./agent-client.ts";
import type { DoctorView, Finding } from "./finding.ts";

const what = "http";

interface RunningHttp {
  readonly http?: { readonly address?: string | null; readonly lastError?: string | null };
}

/** Whether the agent listens at HTTP_HOST and HTTP_PORT or, if none runs on DATA_DIR, whether it could. */
export async function checkHttp(
  settings: Pick<Settings, "httpCertFile" | "httpHost" | "httpPort" | "httpToken" | "dataDir">,
  found: (finding: Finding) => void,
  signal: AbortSignal,
): Promise<void> {
  const { httpHost, httpPort } = settings;
  if (httpPort === null) {
    found({ what, state: "skipped", detail: "HTTP_PORT is off" });
    return;
  }
  const place = `${httpHost}:${httpPort}`;
  const running = await reported(settings, signal);
  if (running === "none") {
    const failure = await tryPort(httpHost, httpPort);
    if (failure === null) found({ what, state: "ok", detail: `${place} is free` });
    else found({ what, state: "failed", detail: listenFailure(failure, settings).message });
    return;
  }
  const { address = null, lastError = null } =
    running === "unseen" ? { address: "its address" } : (running.http ?? {});
  if (lastError !== null) found({ what, state: "failed", detail: lastError });
  else if (address === null)
    found({ what, state: "warning", detail: `the running agent is not listening on ${place} yet` });
  else found({ what, state: "ok", detail: `the running agent is listening on ${address}` });
}

/** What the doctors of features may ask. */
export const doctorView = (
  settings: Parameters<typeof reported>[0],
  signal: AbortSignal,
): DoctorView => ({ status: () => reported(settings, signal), tryPort });

/** Another program that holds the store of the running agent open. */
export async function heldBy({ status }: DoctorView): Promise<StoreHold | null> {
  const running = await status();
  if (typeof running === "string") return null;
  return (running as Partial<AgentStatus>).buffer?.held ?? null;
}

/** What the agent on DATA_DIR reports about itself; `none` if no agent runs there. */
async function reported(
  settings: Pick<Settings, "httpCertFile" | "httpHost" | "httpToken" | "dataDir">,
  signal: AbortSignal,
): Promise<RunningHttp | "none" | "unseen"> {
  // Only by the socket: what responds at the port may be the very program that has taken it.
  const agent = createAgentClient({ ...settings, httpPort: null });
  try {
    return await agent.get<RunningHttp>("/api/v1/status", signal);
  } catch (error) {
    if (!(error instanceof AgentFailure)) throw error;
    // It responds, but rejects this token: it is running.
    return error.code === "refused" ? "unseen" : "none";
  }
}

/** Listens for a moment. Null if that worked. */
function tryPort(host: string, port: number): Promise<Error | null> {
  return new Promise((resolve) => {
    const server = createServer((socket) => socket.destroy());
    server.once("error", resolve);
    server.listen({ host, port, exclusive: true }, () => server.close(() => resolve(null)));
  });
}
