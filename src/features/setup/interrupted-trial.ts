/**
 * A trial that a power cut interrupted, where the start's disk took nothing: the agent runs with the files as they are, and takes
 * the trial back as soon as the disk allows. Not to start would stop all reading.
 */
import { faultText } from "../../core/configuration-fault.ts";
import { codeOf } from "../../core/thrown.ts";
import type { ChangeTurn } from "./change-turn.ts";
import type { TriedChangeParts } from "./trial.ts";
import { type TrialJournal, untilWritten } from "./trial-journal.ts";
import type { Accepted } from "./trial-records.ts";

interface InterruptedTrialParts
  extends Pick<TriedChangeParts, "clock" | "journal" | "logger" | "paths" | "reloader"> {
  readonly turn: ChangeTurn;
  readonly report: (recovered: Accepted) => void;
}

/** `problem`: what the disk said; the trial is still there then. */
export function recoveredAtStart(
  journal: TrialJournal,
  paths: TriedChangeParts["paths"],
  nowMs: number,
): { readonly recovered: Accepted | null; readonly problem: Error | null } {
  try {
    return { recovered: journal.recover(paths, nowMs), problem: null };
  } catch (error) {
    if (!(error instanceof Error) || codeOf(error) === null) throw error;
    return { recovered: null, problem: error };
  }
}

/** Once the agent runs. Resolves at once where the start found no trial, or took it back. */
export async function takeBackInterrupted(
  { journal, paths, reloader, turn, report, ...runtime }: InterruptedTrialParts,
  signal: AbortSignal,
): Promise<void> {
  if (journal.trial === null) return;
  const end = turn.take("an interrupted trial of a configuration is being taken back");
  let recovered: Accepted | null = null;
  const recover = () => {
    recovered = journal.recover(paths, runtime.clock.now());
  };
  try {
    if (!(await untilWritten(recover, runtime, signal))) return;
    if (recovered !== null) report(recovered);
    const { outcome, faults } = await reloader.reload("the configuration before the trial");
    if (outcome === "refused") throw new Error(faults.map(faultText).join("\n"));
  } catch (err) {
    runtime.logger.error({ err }, "the configuration before a trial is back, but not in effect");
  } finally {
    end?.();
  }
}
