import { readFileSync } from "node:fs";
import type { Environment } from "./environment-type.ts";
import { parseServiceEnvironment } from "./service-environment.ts";

/**
 * Names the file from which the service manager sets the environment. A process cannot see changes to that file in its
 * environment, but can read it again: the difference from its content at the start is what a restart would change.
 */
const FILE_NAME = "GATESIDE_ENVIRONMENT_FILE";

/** Returns the environment as a restart would set it. */
export function watchEnvironment(environment: Environment): () => Environment {
  const path = environment[FILE_NAME];
  if (!path) return () => environment;
  const before = read(path);
  return () => {
    const now = read(path);
    // A file that cannot be read now changes nothing.
    if (before === null || now === null) return environment;
    const next: Record<string, string | undefined> = { ...environment };
    for (const name of new Set([...Object.keys(before), ...Object.keys(now)])) {
      if (now[name] !== before[name]) next[name] = now[name];
    }
    return next;
  };
}

function read(path: string): Environment | null {
  try {
    return parseServiceEnvironment(readFileSync(path, "utf8"));
  } catch {
    return null;
  }
}
