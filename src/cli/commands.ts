import type { Command, FlagSpec } from "./command.ts";
import { ENVIRONMENT_FLAG } from "./configuration.ts";
import { SIMULATE_FLAGS } from "./simulate-flags.ts";

const JSON_FLAG: FlagSpec = { name: "json", doc: "print JSON instead of text" };

/** Every command of the program (contract 2). */
export const COMMANDS: readonly Command[] = [
  {
    name: "check",
    summary: "validate settings and site file offline",
    details:
      "Prints every fault with its place and remedy, and the settings in effect with their origin.\nExit code 0, or 2 when there are faults.",
    flags: [JSON_FLAG, ENVIRONMENT_FLAG],
    examples: ["gateside check", "SITE_FILE=config/examples/plant.json gateside check --json"],
    load: () => import("./check.ts"),
  },
  {
    name: "simulate",
    summary: "a SensorService with a plausible plant behind it",
    details:
      "For commissioning, training and tests: seven kinds of readings, days of history, and faults on demand.\nRuns until it is stopped.",
    flags: SIMULATE_FLAGS,
    examples: [
      "gateside simulate --site-out site.json",
      "gateside simulate --speed 60 --fault slow-first-byte:ms=5000,probability=0.1",
    ],
    load: () => import("./simulate.ts"),
  },
];
