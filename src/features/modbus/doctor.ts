import type { DoctorView, Finding } from "../../cli/finding.ts";
import { codeOf } from "../../core/thrown.ts";
import { MapFileFailure, mapFilePath, readMapFile } from "./map-file.ts";
import type { ModbusSettings, ModbusState } from "./spec.ts";

/** Whether the agent listens at MODBUS_HOST and MODBUS_PORT or, if none runs on DATA_DIR, whether it could. */
export async function checkModbus(
  { modbusHost, dataDir }: ModbusSettings,
  port: number,
  ask: DoctorView,
): Promise<Finding> {
  const report = (state: Finding["state"], detail: string) => ({ what: "modbus", state, detail });
  const place = `${modbusHost}:${port}`;
  const running = await ask.status();
  if (running === "none") {
    try {
      readMapFile(mapFilePath(dataDir));
    } catch (error) {
      if (!(error instanceof MapFileFailure)) throw error;
      return report("failed", error.message);
    }
    const failure = await ask.tryPort(modbusHost, port);
    return failure === null
      ? report("ok", `${place} is free`)
      : report("failed", `MODBUS_PORT: ${failure.message}; ${portRemedy(failure)}`);
  }
  if (running === "unseen")
    return report("ok", "the running agent is listening on its address, 0 clients");
  const { modbus = null } = running as { readonly modbus?: ModbusState | null };
  if (modbus === null)
    return report(
      "warning",
      "the running agent does not serve Modbus: MODBUS_PORT takes effect after a restart",
    );
  if (modbus.lastError !== null) return report("failed", modbus.lastError);
  if (modbus.address === null)
    return report("warning", `the agent is not listening on ${place} yet`);
  return report(
    "ok",
    `the running agent is listening on ${modbus.address}, ${modbus.clients} clients`,
  );
}

function portRemedy(failure: Error): string {
  const code = codeOf(failure);
  if (code === "EADDRINUSE") return "another program uses it: set another port";
  if (code === "EACCES") return "this user is not allowed to listen there: set a port above 1023";
  return "is MODBUS_HOST an address of this machine?";
}
