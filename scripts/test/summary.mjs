/**
 * A reporter for the end of a run: what failed, with error and location, what the browser showed of it, which files took longest, and what was skipped and why. With
 * CI=true a skipped test is a failure, unless GATESIDE_TESTS_MISSING names programs that could not be had. Writes what failed as JSON to the file that GATESIDE_TEST_FAILURES names.
 */
import { writeFileSync } from "node:fs";
import { isAbsolute } from "node:path";
import { sourceOf } from "./run-name.mjs";

const SLOWEST_SHOWN = 15;
/** Names of skipped tests shown for one reason. */
const SKIPPED_SHOWN = 3;
/** Words of a reason for skipping, and the Debian package that brings what is missing. */
const PACKAGES = [
  ["mosquitto", "mosquitto mosquitto-clients"],
  ["chromium", "chromium-headless-shell"],
  ["firefox", "firefox-esr"],
  ["PostgreSQL", "postgresql"],
  ["RabbitMQ", "rabbitmq-server"],
  ["haproxy", "haproxy"],
  ["nginx", "nginx"],
  ["PgBouncer", "pgbouncer"],
  ["iproute2", "iproute2"],
  ["gcc", "gcc"],
  ["promtool", "prometheus"],
  ["protoc", "protobuf-compiler"],
  ["openssl", "openssl"],
  ["libfaketime", "faketime"],
];
/** The line that installs what the reasons for skipping name; "" where that is nothing. */
function installLine(reasons) {
  const text = [...reasons].join("\n");
  const names = PACKAGES.flatMap(([word, name]) => (text.includes(word) ? [name] : []));
  if (names.length === 0) return "";
  return `# To test that too (Debian, Ubuntu): sudo apt-get install -y --no-install-recommends ${names.join(" ")}\n`;
}

/** Of what a file has written to its stderr: the end, which says why the process ended. */
const STDERR_SHOWN = 4000;

const firstLines = (text, count) => String(text).split("\n").slice(0, count).join("\n#       ");

function reasonOf(error) {
  const cause = error?.cause ?? error;
  return firstLines(cause?.stack ?? cause?.message ?? cause ?? "no error given", 12);
}

/** "group" where only what the test contains has failed, "late" where a deadline has passed, "cancelled" where the test around it or the process ended, else "wrong". */
function kindOf(error) {
  const { failureType } = error ?? {};
  if (failureType === "subtestsFailed") return "group";
  if (failureType === "cancelledByParent") return "cancelled";
  if (failureType === "testTimeoutFailure") return "late";
  for (let cause = error; cause instanceof Object; cause = cause.cause)
    if (cause.name === "TimeoutError") return "late";
  return "wrong";
}

export default async function* summary(events) {
  const failed = [];
  const failures = [];
  const reasons = new Map();
  const files = new Map();
  const stderr = new Map();
  const pages = [];
  for await (const { type, data } of events) {
    if (type === "test:stderr") {
      const text = `${stderr.get(data.file) ?? ""}${data.message}`;
      stderr.set(data.file, text.slice(-STDERR_SHOWN));
    }
    if (type === "test:diagnostic" && /^The page |^Error: /.test(data.message))
      pages.push(`#   ${firstLines(data.message, 60)}\n`);
    if (type !== "test:pass" && type !== "test:fail") continue;
    if (data.skip !== undefined) {
      const reason = data.skip === true || data.skip === "" ? "no reason given" : data.skip;
      reasons.set(reason, [...(reasons.get(reason) ?? []), data.name]);
    }
    const file = sourceOf(data.file ?? data.name);
    if (data.nesting === 0)
      files.set(file, (files.get(file) ?? 0) + (data.details?.duration_ms ?? 0));
    if (type === "test:pass" || data.todo !== undefined) continue;
    const error = data.details?.error;
    const name = isAbsolute(data.name) ? sourceOf(data.name) : data.name;
    failed.push(`#   ${file}:${data.line ?? 0} ${name}\n#       ${reasonOf(error)}\n`);
    if (name === file && stderr.has(data.file))
      failed.push(`#       ${firstLines(stderr.get(data.file), 40)}\n`);
    const kind = kindOf(error);
    if (kind !== "group") failures.push({ file, name, kind });
  }
  const slowest = [...files].sort((a, b) => b[1] - a[1]).slice(0, SLOWEST_SHOWN);
  yield "# Slowest files, s\n";
  for (const [file, ms] of slowest) yield `#   ${(ms / 1000).toFixed(1).padStart(6)}  ${file}\n`;
  const count = [...reasons.values()].reduce((sum, names) => sum + names.length, 0);
  yield count === 0 ? "# No test was skipped\n" : `# ${count} skipped\n`;
  for (const [reason, names] of reasons)
    yield `#   ${names.length} × ${reason}: ${names.slice(0, SKIPPED_SHOWN).join("; ")}${names.length > SKIPPED_SHOWN ? "; …" : ""}\n`;
  yield installLine(reasons.keys());
  const isSkipFailure =
    count > 0 && process.env.CI === "true" && !process.env.GATESIDE_TESTS_MISSING;
  if (isSkipFailure) {
    yield "# With CI=true a missing component is a failure: install what the reasons name\n";
    process.exitCode = 1;
  }
  yield failed.length === 0 ? "# Nothing failed\n" : `# ${failed.length} failed\n`;
  yield* failed;
  yield* pages;
  const out = process.env.GATESIDE_TEST_FAILURES;
  if (out !== undefined) writeFileSync(out, JSON.stringify({ failures, isSkipFailure }));
}
