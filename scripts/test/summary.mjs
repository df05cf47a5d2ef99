/**
 * A reporter for the end of a run: what failed, with error and location, what the browser showed of it, which files took longest, and what was skipped and why. With
 * CI=true a skipped test is a failure.
 */
const SLOWEST_SHOWN = 15;

const firstLines = (text, count) => String(text).split("\n").slice(0, count).join("\n#       ");

function reasonOf(error) {
  const cause = error?.cause ?? error;
  return firstLines(cause?.stack ?? cause?.message ?? cause ?? "no error given", 12);
}

export default async function* summary(events) {
  const failed = [];
  const reasons = new Map();
  const files = new Map();
  const pages = [];
  for await (const { type, data } of events) {
    if (type === "test:diagnostic" && data.message.startsWith("The page "))
      pages.push(`#   ${firstLines(data.message, 60)}\n`);
    if (type !== "test:pass" && type !== "test:fail") continue;
    if (data.skip !== undefined) {
      const reason = data.skip === true || data.skip === "" ? "no reason given" : data.skip;
      reasons.set(reason, [...(reasons.get(reason) ?? []), data.name]);
    }
    const file = data.file ?? data.name;
    if (data.nesting === 0)
      files.set(file, (files.get(file) ?? 0) + (data.details?.duration_ms ?? 0));
    if (type === "test:fail" && data.todo === undefined)
      failed.push(
        `#   ${file}:${data.line ?? 0} ${data.name}\n#       ${reasonOf(data.details?.error)}\n`,
      );
  }
  const slowest = [...files].sort((a, b) => b[1] - a[1]).slice(0, SLOWEST_SHOWN);
  yield "# Slowest files, s\n";
  for (const [file, ms] of slowest) yield `#   ${(ms / 1000).toFixed(1).padStart(6)}  ${file}\n`;
  const count = [...reasons.values()].reduce((sum, names) => sum + names.length, 0);
  yield count === 0 ? "# No test was skipped\n" : `# ${count} skipped\n`;
  for (const [reason, names] of reasons)
    yield `#   ${names.length} × ${reason}: ${names.join("; ")}\n`;
  if (count > 0 && process.env.CI === "true") {
    yield "# With CI=true a missing component is a failure: install what the reasons name\n";
    process.exitCode = 1;
  }
  yield failed.length === 0 ? "# Nothing failed\n" : `# ${failed.length} failed\n`;
  yield* failed;
  yield* pages;
}
