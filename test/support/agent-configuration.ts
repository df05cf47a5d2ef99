import assert from "node:assert/strict";
import { examineConfiguration } from "../../src/cli/configuration.ts";
import type { Environment } from "../../src/config/environment-type.ts";

/** What `gateside run` would open an agent with, in `cwd` and without flags. Fails with the faults where the settings have any. */
export function agentConfiguration(env: Environment, cwd: string) {
  // Of a command's flags only these two questions are asked.
  const context = { env, cwd, flags: { text: () => null, has: () => false } } as never;
  const { configuration, loaded, faults } = examineConfiguration(context);
  assert.ok(configuration, JSON.stringify(faults));
  return { configuration, loaded, context };
}
