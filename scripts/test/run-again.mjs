/**
 * What fails among hundreds of files side by side may be the machine's fault: a few files that failed are run once more, each alone. Where no more than a
 * deadline had passed, one success is enough. A wrong result is rarely a matter of time, so such a file must then succeed three times running.
 * Whatever passes only alone is named at the end all the same, for somebody has to mend it.
 */
import { spawn } from "node:child_process";
import { existsSync } from "node:fs";
import { join } from "node:path";

/** Where more have failed, the machine or the program is broken, and trying again would only hide how badly. */
const FILES_MAX = 4;
const TIMES = { late: 1, wrong: 3 };

const BEGAN_AT = Date.now();
/** Under libfaketime (`npm run hours`) the same moment comes again. */
function momentAgain() {
  const offsetBefore = Number(process.env.FAKETIME);
  if (Number.isNaN(offsetBefore)) return {};
  const offsetS = offsetBefore - Math.round((Date.now() - BEGAN_AT) / 1000);
  return { FAKETIME: `${offsetS < 0 ? "" : "+"}${offsetS}` };
}

const runAlone = (root, file) =>
  new Promise((done) => {
    spawn(process.execPath, [join(root, "scripts/test/run.mjs"), file], {
      cwd: root,
      stdio: "inherit",
      env: { ...process.env, ...momentAgain(), GATESIDE_TEST_ALONE: "1" },
    }).on("close", (code) => done(code === 0));
  });

/** The failures as they were reported: `{ file, name, kind }`. Returns whether every file has passed alone, and the lines that end the run. */
export async function runAgain(root, failures) {
  const files = [...new Set(failures.map(({ file }) => file))];
  const isHopeless =
    files.length > FILES_MAX || files.some((file) => !existsSync(join(root, file)));
  const lines = [];
  let hasPassed = !isHopeless;
  for (const file of files) {
    const own = failures.filter((one) => one.file === file);
    const kinds = new Set(own.map(({ kind }) => kind));
    const isLate = kinds.has("late") && !kinds.has("wrong");
    let outcome = isHopeless ? "FAILED" : "PASSED ONLY WHEN RUN ALONE, to be mended";
    for (let left = isHopeless ? 0 : TIMES[isLate ? "late" : "wrong"]; left > 0; left--) {
      console.error(`\n# ${file} has failed and is run again, alone`);
      if (await runAlone(root, file)) continue;
      [outcome, hasPassed] = ["FAILED, also when run alone", false];
      break;
    }
    lines.push(`# ${outcome}: ${file}`, ...own.map(({ name, kind }) => `#   ${kind}: ${name}`));
  }
  return { hasPassed, lines };
}
