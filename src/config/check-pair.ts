import { statSync } from "node:fs";
import { dirname } from "node:path";
import type { Refining } from "./refining.ts";
import type { RawSettings } from "./settings-table.ts";
import { checkTlsFiles } from "./tls-files.ts";

/** Certificate and key must be set together, and match. */
export function checkPair(
  raw: RawSettings,
  side: "MQTT" | "HTTP",
  { note, warn, path }: Refining,
): void {
  const file = (name: "MQTT_CA_FILE" | `${typeof side}_${"CERT" | "KEY"}_FILE`) => {
    const found = path(raw[name]);
    return found === null ? undefined : { name, path: found };
  };
  const ca = side === "MQTT" ? file("MQTT_CA_FILE") : undefined;
  const cert = file(`${side}_CERT_FILE`);
  const key = file(`${side}_KEY_FILE`);
  if ((cert === undefined) !== (key === undefined)) {
    note({
      place: cert ? `${side}_KEY_FILE` : `${side}_CERT_FILE`,
      problem: `is missing, but the other half of the ${side === "MQTT" ? "client certificate" : "pair"} is set`,
      remedy: `set both ${side}_CERT_FILE and ${side}_KEY_FILE, or neither`,
    });
  }
  if (key !== undefined && openToAll(key.path))
    warn(
      key.name,
      `every user of this machine can read ${key.path}`,
      `let only the agent's user read it: chmod 640 ${key.path}`,
    );
  checkTlsFiles({ ...(ca && { ca }), ...(cert && { cert }), ...(key && { key }) }, note);
}

const READ_BY_OTHERS = 0o004;
const ENTERED_BY_OTHERS = 0o001;

/** Whether any user of the machine may read a file: by its mode and those of all directories above it. False if it does not exist. */
function openToAll(path: string): boolean {
  if (process.platform === "win32") return false;
  const may = (at: string, bit: number) => {
    try {
      return (statSync(at).mode & bit) !== 0;
    } catch {
      return false;
    }
  };
  if (!may(path, READ_BY_OTHERS)) return false;
  for (let at = dirname(path); ; at = dirname(at)) {
    if (!may(at, ENTERED_BY_OTHERS)) return false;
    if (at === dirname(at)) return true;
  }
}
