/** Warns if nothing can be saved that set-up or signed documents are to change, before somebody stands in front of the machine with a phone. */
import { existsSync } from "node:fs";
import { basename, dirname, join } from "node:path";
import type { ConfigurationFault } from "../../core/configuration/configuration-fault.ts";
import { replaceTrouble } from "../../lib/write-trouble.ts";

type Name =
  | "CONFIG_PUBLIC_KEY_FILE"
  | "DATA_DIR"
  | "HTTP_PORT"
  | "SETUP_ENABLED"
  | "SITE_FILE"
  | "UPLINKS_FILE";

/** Writes nothing. */
export function setupWarnings(shown: Readonly<Record<Name, string>>): ConfigurationFault[] {
  const isSetup = shown.SETUP_ENABLED === "true";
  const hasDocuments = shown.CONFIG_PUBLIC_KEY_FILE !== "";
  if (!isSetup && !hasDocuments) return [];
  const who = isSetup ? "SETUP_ENABLED is on" : "CONFIG_PUBLIC_KEY_FILE is set";
  const warnings: ConfigurationFault[] = [];
  for (const name of ["SITE_FILE", "UPLINKS_FILE"] as const) {
    const path = shown[name];
    // Made with the first start.
    if (dirname(path) === shown.DATA_DIR && !existsSync(shown.DATA_DIR)) continue;
    const trouble = path === "" ? null : replaceTrouble(path);
    if (trouble === null) continue;
    const place = join(shown.DATA_DIR, basename(path));
    warnings.push({
      place: name,
      problem: `${who}, but ${path} cannot be saved: ${trouble}`,
      remedy: `set ${name}=${place}, move an existing file there, and restart (docs/setup.md)`,
    });
  }
  if (isSetup && shown.HTTP_PORT === "off")
    warnings.push({
      place: "SETUP_ENABLED",
      problem: "has no effect with HTTP_PORT=off",
      remedy: "set a port, or remove SETUP_ENABLED",
    });
  return warnings;
}
