/** What other features may use of state and speed of machines. */
export {
  isRunning,
  MachineSignals,
  type MachineSignalsOf,
  type Signal,
} from "./rules/machine-signals.ts";
export type { SignalPoint } from "./rules/signal.ts";
export { Wait } from "./rules/wait.ts";
export { waitingText } from "./rules/waiting-text.ts";
