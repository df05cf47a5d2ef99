import type { FlagSpec } from "./command.ts";

export const ENVIRONMENT_FLAG: FlagSpec = {
  name: "environment",
  value: "FILE",
  doc: "read settings from FILE instead of .env (the environment still takes precedence)",
};
