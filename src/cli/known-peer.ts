/** Whether what listens at HTTP_PORT is this box's agent: any user of the machine may listen there while it is stopped. */
import { accessSync, constants, existsSync } from "node:fs";
import { agentSocketPath, nativeBinding } from "../lib/paths.ts";
import { DirectoryLock } from "../pipeline/store/database/directory-lock.ts";

/** True if an agent runs on the directory, or has a socket there that this user may not use. */
export function hasAgent(dataDir: string): boolean {
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
