/** npm run chaos: see HELP in command-line.ts. */
import { existsSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { skipWithoutMosquitto } from "../../test/support/mosquitto.ts";
import { type CampaignOptions, runCampaign } from "./campaign.ts";
import { HELP, readCommandLine } from "./command-line.ts";
import { headLines, isWell, resultLines } from "./table.ts";
import { prepareWorkplace, type Workplace } from "./workplace.ts";

const tell = (line: string) => void process.stdout.write(`${line}\n`);

async function main(): Promise<number> {
  const orders = readCommandLine(process.argv.slice(2));
  if (orders === null) {
    process.stdout.write(HELP);
    return 0;
  }
  const { program, rounds, atOnce, verbose, keep } = orders;
  if (skipWithoutMosquitto) {
    tell(`skipped: ${skipWithoutMosquitto}`);
    return 0;
  }
  if (!existsSync(program)) throw new Error(`${program} is not built (npm run build)`);
  const calledOff = untilCalledOff();
  const directory = mkdtempSync(join(tmpdir(), "gateside-chaos-program-"));
  try {
    const place = prepareWorkplace(program, directory);
    const { smallDisk, fakeTimeLibrary } = place;
    tell(
      `disk full: ${smallDisk ? "yes" : "cannot mount here"} · box clock: ${fakeTimeLibrary ?? "no libfaketime"}`,
    );
    for (const line of headLines()) tell(line);
    const log = verbose ? tell : () => {};
    const waiting = rounds.values();
    const codes = Array.from({ length: atOnce }, async () => {
      let code = 0;
      for (const round of waiting)
        code = Math.max(code, await runRound(place, { ...round, keep, log, calledOff }));
      return code;
    });
    return Math.max(...(await Promise.all(codes)));
  } finally {
    rmSync(directory, { recursive: true, force: true });
  }
}

/** A seed that cannot be evaluated does not prevent the others from running. */
async function runRound(place: Workplace, options: CampaignOptions): Promise<number> {
  try {
    const result = await runCampaign(place, options);
    for (const line of resultLines(result)) tell(line);
    return isWell(result) ? 0 : 1;
  } catch (error) {
    if (error instanceof CalledOff) throw error;
    const reason = error instanceof Error ? (error.stack ?? error.message) : String(error);
    tell(`seed ${options.seed} did not end: ${reason}`);
    return 2;
  }
}

class CalledOff extends Error {
  override readonly name = "CalledOff";
}

/** Ctrl-C stops what was started and unmounts what was mounted. */
function untilCalledOff(): Promise<never> {
  const calledOff = new Promise<never>((_, reject) => {
    for (const signal of ["SIGINT", "SIGTERM"] as const) {
      process.once(signal, () => reject(new CalledOff(`stopped by ${signal}`)));
    }
  });
  // It may arrive between two seeds.
  calledOff.catch(() => {});
  return calledOff;
}

main().then(
  (code) => {
    // Whatever a hung campaign has left open must not keep this process alive.
    process.exit(code);
  },
  (error: unknown) => {
    process.stderr.write(`${error instanceof Error ? error.message : String(error)}\n`);
    process.exit(2);
  },
);
