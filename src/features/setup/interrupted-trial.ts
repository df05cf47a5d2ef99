/**
 * A trial that a power cut interrupted, where the start's disk took nothing: the agent runs with the files as they are, and takes
 * the trial back as soon as the disk allows. Not to start would stop all reading.
 */
import { faultText } from "../../core/configuration/configuration-fault.ts";
import { codeOf, messageOf } from "../../core/thrown.ts";
import { durableFiles } from "../../lib/durable-file.ts";
import type { ConfigurationPlaces } from "../feature.ts";
import type { ChangeTurn } from "./change-turn.ts";
import type { TriedChangeParts } from "./trial.ts";
import { TrialJournal, untilWritten } from "./trial-journal.ts";
import { type Accepted, sealed } from "./trial-records.ts";

interface InterruptedTrialParts
  extends Pick<TriedChangeParts, "clock" | "journal" | "logger" | "paths" | "reloader"> {
  readonly turn: ChangeTurn;
  readonly report: (recovered: Accepted) => void;
}

/** Before the files are read. Null if there was no trial, or if the disk takes nothing: it is taken back once it does. */
export function recoverAtStart(
  { dataDir, siteFile, uplinksFile }: ConfigurationPlaces,
  warn: (text: string) => void,
): string | null {
  const journal = new TrialJournal(durableFiles, dataDir);
  if (journal.trial === null)
    warn(
      "the record of a configuration's trial is damaged, so what was on trial stays in effect: compare SITE_FILE and UPLINKS_FILE with what you mean",
    );
  try {
    const recovered = journal.recover({ site: siteFile, uplinks: uplinksFile }, Date.now());
    return recovered && sealed(recovered);
  } catch (error) {
    if (!(error instanceof Error) || codeOf(error) === null) throw error;
    warn(
      `a configuration was on trial when the agent stopped, and the one before cannot be written (${messageOf(error)}): what the files say is in effect until the disk takes it`,
    );
    return null;
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
