import { createServer } from "node:net";
import { listenFailure } from "../agent/listen-failure.ts";
import type { Settings } from "../config/settings.ts";
import type { ModbusState } from "../core/agent-status.ts";
import { codeOf } from "../core/thrown.ts";
import { MapFileFailure, mapFilePath, readMapFile } from "../features/modbus/map-file.ts";
import { AgentFailure, createAgentClient } from "./agent-client.ts";
import type { Finding } from "./finding.ts";

const what = "http";

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
  const running = await runningSide(settings, signal);
  if (running === "none") {
    const failure = await tryPort(httpHost, httpPort);
    if (failure === null) found({ what, state: "ok", detail: `${place} is free` });
    else found({ what, state: "failed", detail: listenFailure(failure, settings).message });
    return;
  }
  const { address, lastError } = running.http;
  if (lastError !== null) found({ what, state: "failed", detail: lastError });
  else if (address === null)
    found({ what, state: "warning", detail: `the running agent is not listening on ${place} yet` });
  else found({ what, state: "ok", detail: `the running agent is listening on ${address}` });
}

/** The same for MODBUS_HOST and MODBUS_PORT; no finding if it is off. */
export async function checkModbus(
  settings: Pick<
    Settings,
    "httpCertFile" | "httpHost" | "httpToken" | "dataDir" | "modbusHost" | "modbusPort"
  >,
  found: (finding: Finding) => void,
  signal: AbortSignal,
): Promise<void> {
  const { modbusHost, modbusPort } = settings;
  if (modbusPort === null) return;
  const report = (state: Finding["state"], detail: string) =>
    found({ what: "modbus", state, detail });
  const place = `${modbusHost}:${modbusPort}`;
  const running = await runningSide(settings, signal);
  if (running === "none") {
    try {
      readMapFile(mapFilePath(settings.dataDir));
    } catch (error) {
      if (!(error instanceof MapFileFailure)) throw error;
      report("failed", error.message);
      return;
    }
    const failure = await tryPort(modbusHost, modbusPort);
    if (failure === null) report("ok", `${place} is free`);
    else report("failed", `MODBUS_PORT: ${failure.message}; ${portRemedy(failure)}`);
    return;
  }
  const { modbus } = running;
  if (modbus === null)
    report(
      "warning",
      "the running agent does not serve Modbus: MODBUS_PORT takes effect after a restart",
    );
  else if (modbus.lastError !== null) report("failed", modbus.lastError);
  else if (modbus.address === null) report("warning", `the agent is not listening on ${place} yet`);
  else
    report("ok", `the running agent is listening on ${modbus.address}, ${modbus.clients} clients`);
}

function portRemedy(failure: Error): string {
  const code = codeOf(failure);
  if (code === "EADDRINUSE") return "another program uses it: set another port";
  if (code === "EACCES") return "this user is not allowed to listen there: set a port above 1023";
  return "is MODBUS_HOST an address of this machine?";
}

interface RunningSide {
  readonly http: { readonly address: string | null; readonly lastError: string | null };
  readonly modbus: ModbusState | null;
}

/** What the agent on DATA_DIR reports about its own servers; `none` if no agent runs there. */
async function runningSide(
  settings: Pick<Settings, "httpCertFile" | "httpHost" | "httpToken" | "dataDir">,
  signal: AbortSignal,
): Promise<RunningSide | "none"> {
  // Only by the socket: what responds at the port may be the very program that has taken it.
  const agent = createAgentClient({ ...settings, httpPort: null });
  try {
    const { http, modbus = null } = await agent.get<{
      readonly http?: Partial<RunningSide["http"]>;
      readonly modbus?: ModbusState | null;
    }>("/api/v1/status", signal);
    return {
      http: { address: http?.address ?? null, lastError: http?.lastError ?? null },
      modbus,
    };
  } catch (error) {
    if (!(error instanceof AgentFailure)) throw error;
    // It responds, but rejects this token: it is running.
    if (error.code !== "refused") return "none";
    const unseen = { address: "its address", lastError: null };
    return { http: unseen, modbus: { ...unseen, clients: 0 } };
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
