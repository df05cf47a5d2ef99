// Health check of the container, for both programs of the image: by the command line of its first process, the agent (over its socket,
// whatever port, address and certificate it has) or a collector (over the port of --metrics; without one, it runs or the container ends).
import { readFileSync } from "node:fs";
import { get } from "node:http";
import { parseEnv } from "node:util";

const given = process.argv.slice(2);
const words = given.length > 0 ? given : readFileSync("/proc/1/cmdline", "utf8").split("\0");
const isCollector = words.includes("collect");

function flag(name) {
  const at = words.findIndex((word) => word === name || word.startsWith(`${name}=`));
  return words[at]?.includes("=")
    ? words[at].slice(name.length + 1)
    : words[at + 1 || words.length];
}

/** Of the environment, else of the file of --environment. */
function dataDirectory() {
  const file = flag("--environment");
  if (process.env["DATA_DIR"] || !file) return process.env["DATA_DIR"] || "/data";
  return parseEnv(readFileSync(file, "utf8"))["DATA_DIR"] || "/data";
}

function metricsAddress() {
  const text = flag("--metrics") ?? process.env["COLLECT_METRICS"];
  if (!text) return null;
  const [, host = "127.0.0.1", port] = /^(?:(.*):)?(\d+)$/.exec(text) ?? [];
  const isAny = host === "0.0.0.0" || host === "[::]" || host === "::";
  return { host: isAny ? "127.0.0.1" : host.replace(/^\[|\]$/g, ""), port: Number(port) };
}

const collector = isCollector ? metricsAddress() : null;
if (isCollector && collector === null) process.exit(0);
const where = collector ?? { socketPath: `${dataDirectory()}/gateside.sock` };
get({ ...where, path: "/healthz", timeout: 4_000 }, ({ statusCode }) => {
  process.exit(statusCode === 200 ? 0 : 1);
})
  .on("timeout", () => process.exit(1))
  .on("error", () => process.exit(1));
