/**
 * What the findings say on public records of real bearings: `node --import tsx scripts/diagnosis-records.ts FOLDER`.
 * Each record is cut into pieces of one length, which follow each other as readings of one sensor; a fault counts as
 * named once a finding stands. The folder and its files: scripts/diagnosis/real-records.ts.
 *
 * --set develop|others|all|beside|hit|harbin   which records (develop)
 * --sizes N,N                       lengths of a reading, samples (4096,8192,16384)
 * --overlap                         each reading begins in the middle of the one before
 * --line-hz N                       mains of the machines, if the site file states it
 * --list                            every record, with what was found
 * --depth                           how deep the lines of each part are in the whitened envelope, instead
 */
import { parseArgs } from "node:util";
import { depthsOn, findingsOn } from "./diagnosis/pieces.ts";
import { type RecordSet, realRecords } from "./diagnosis/real-records.ts";

const { values: flags, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    set: { type: "string", default: "develop" },
    sizes: { type: "string", default: "4096,8192,16384" },
    "line-hz": { type: "string" },
    overlap: { type: "boolean", default: false },
    list: { type: "boolean", default: false },
    depth: { type: "boolean", default: false },
  },
});
const [folder] = positionals;
if (folder === undefined) throw new Error("the folder with the records is missing");
const records = [...realRecords(folder, flags.set as RecordSet)];
const write = (line: string) => process.stdout.write(`${line}\n`);

interface Score {
  count: number;
  right: number;
  wrong: number;
  /** Damaged, not named, and no reason for its damage in the last reading; or only that its lines are not deep enough. */
  silent: number;
  shallow: number;
}

if (flags.depth) {
  for (const size of flags.sizes.split(",").map(Number)) {
    write(`| ${size} samples | damaged | outer race, % | inner race, % | element, % | cage, % |`);
    write("| --- | --- | --- | --- | --- | --- |");
    for (const record of records) {
      const depths = [...depthsOn(record, size).values()].map((depth) => depth.toFixed(1));
      write(`| ${record.name} | ${record.truth ?? "none"} | ${depths.join(" | ")} |`);
    }
  }
  process.exit(0);
}

write(
  "| records | samples | damaged | named | wrongly named | not deep enough | missed without a reason | undamaged | with a finding |",
);
write("| --- | --- | --- | --- | --- | --- | --- | --- | --- |");
for (const size of flags.sizes.split(",").map(Number)) {
  const scores = new Map<string, { damaged: Score; undamaged: Score }>();
  for (const record of records) {
    const group = record.name.split(" ")[0] ?? "";
    const none = () => ({ count: 0, right: 0, wrong: 0, silent: 0, shallow: 0 });
    const own = scores.get(group) ?? { damaged: none(), undamaged: none() };
    scores.set(group, own);
    const { found, cannot } = findingsOn(record, size, {
      hop: flags.overlap ? size / 2 : size,
      lineHz: flags["line-hz"] === undefined ? undefined : Number(flags["line-hz"]),
    });
    const score = record.truth === null ? own.undamaged : own.damaged;
    const isRight = found.some((finding) => finding === record.truth);
    const isWrong = found.some((finding) => finding !== record.truth);
    score.count += 1;
    if (isRight) score.right += 1;
    if (isWrong) score.wrong += 1;
    const told = cannot.filter(
      (one) => one.startsWith("null:") || one.startsWith(`${record.truth}:`),
    );
    if (record.truth !== null && !isRight && told.length === 0) score.silent += 1;
    if (!isRight && told.length > 0 && told.every((one) => one.endsWith(":below_depth")))
      score.shallow += 1;
    if (!flags.list) continue;
    const mark = isWrong ? "WRONG" : isRight ? "right" : record.truth === null ? "ok" : "-";
    console.error(
      `${size} ${mark} ${record.name}: ${found.join(", ")} ${isRight ? "" : cannot.join(" ")}`,
    );
  }
  for (const [group, { damaged, undamaged }] of scores) {
    write(
      `| ${group} | ${size} | ${damaged.count} | ${damaged.right} | ${damaged.wrong} | ${damaged.shallow} | ${damaged.silent} | ${undamaged.count} | ${undamaged.wrong} |`,
    );
  }
}
