import { existsSync, readFileSync, renameSync, writeFileSync } from "node:fs";
import { resolve } from "node:path";
import { AnalyticsClient, AnalyticsFailure } from "../analytics/client.ts";
import { type DraftHints, draftSite } from "../analytics/draft.ts";
import { survey } from "../analytics/survey.ts";
import { faultLine } from "../config/fault.ts";
import { loadSite } from "../config/site.ts";
import { KINDS, type Kind } from "../core/sensor.ts";
import { createWireNames } from "../core/wire/wire-names.ts";
import { fileTrouble } from "../lib/file-trouble.ts";
import { type CommandContext, type Flags, UsageError } from "./command.ts";
import { outFile } from "./out-file.ts";
import { ProgressLine } from "./progress.ts";
import { writeOut } from "./write-out.ts";

/** Drafts a site file from an analytics service's lists: 0 written, 1 the service gave nothing, 2 a wrong flag or file. */
export async function run(context: CommandContext): Promise<number> {
  const { flags, cwd, stdout, stderr, signal } = context;
  const hints = hintsOf(flags);
  const out = flags.text("out");
  const merge = flags.text("merge");
  const outPath = out === null ? null : outFile("out", out, cwd);
  if (
    outPath !== null &&
    existsSync(outPath) &&
    (merge === null || resolve(cwd, merge) !== outPath)
  ) {
    throw new UsageError(`--out ${out} is there already; give --merge ${out} to add to it`);
  }
  const existing = merge === null ? null : readSite(resolve(cwd, merge), merge);
  const names = createWireNames({ word: flags.required("wire-word"), service: "" });
  const client = new AnalyticsClient(urlOf(flags), tokenOf(flags, cwd), names);
  const progress = new ProgressLine(stderr);
  let result: ReturnType<typeof draftSite>;
  try {
    const found = await survey(client, (text) => progress.show(`discover: ${text}`), signal);
    result = draftSite(found, existing, hints);
  } catch (error) {
    if (!(error instanceof AnalyticsFailure) && !signal.aborted) throw error;
    stderr.write(`error: ${signal.aborted ? "stopped" : (error as Error).message}\n`);
    return 1;
  } finally {
    progress.end();
  }
  for (const note of result.notes) stderr.write(`note: ${note}\n`);
  const text = `${JSON.stringify(result.site, null, 2)}\n`;
  const { faults } = loadSite(text, out ?? "draft");
  for (const fault of faults) stderr.write(`${faultLine(fault)}\n`);
  if (outPath === null) await writeOut(stdout, text, signal);
  else replaceFile(outPath, text);
  const where = out === null ? "" : ` in ${out}`;
  stderr.write(
    `Sensors added${where}: ${result.added}; there before: ${result.kept}. Run \`gateside check\` next.\n`,
  );
  return faults.length === 0 ? 0 : 1;
}

function urlOf(flags: Flags): string {
  const url = flags.required("url");
  if (!URL.canParse(url) || !/^https?:$/.test(new URL(url).protocol)) {
    throw new UsageError(
      `--url ${JSON.stringify(url)} is no address such as http://analytics.plant:8080`,
    );
  }
  return url;
}

function tokenOf(flags: Flags, cwd: string): string {
  const file = flags.text("token-file");
  if (file === null) return flags.required("token");
  try {
    return readFileSync(resolve(cwd, file), "utf8").trim();
  } catch (error) {
    throw new UsageError(`--token-file: ${resolve(cwd, file)} ${fileTrouble(error)}`);
  }
}

/** As it is written, without the checker's faults: they are told of the merged file. */
function readSite(path: string, shown: string): Readonly<Record<string, unknown>> {
  let text: string;
  try {
    text = readFileSync(path, "utf8").replace(/^\uFEFF/, "");
  } catch (error) {
    throw new UsageError(`--merge: ${path} ${fileTrouble(error)}`);
  }
  let parsed: unknown;
  try {
    parsed = JSON.parse(text);
  } catch (error) {
    throw new UsageError(`--merge ${shown} is no JSON: ${(error as Error).message}`);
  }
  const site =
    typeof parsed === "object" && parsed !== null ? (parsed as Record<string, unknown>) : {};
  const { sensors } = site;
  const isList =
    Array.isArray(sensors) && sensors.every((one) => typeof one === "object" && one !== null);
  if (!isList) throw new UsageError(`--merge ${shown} is no site file: it has no list of sensors`);
  return site;
}

/** Whole or not at all: a site file is never left half written. */
function replaceFile(path: string, text: string): void {
  const draft = `${path}.new`;
  writeFileSync(draft, text, { flush: true });
  renameSync(draft, path);
}

function hintsOf(flags: Flags): DraftHints {
  const clamp = flags.choice("clamp", ["50", "100", "250", "500"]);
  return {
    site: flags.text("site"),
    kinds: new Map(flags.all("kinds").map(kindsHint)),
    clamp: clamp === null ? null : Number(clamp),
    loop: loopHint(flags.text("loop")),
  };
}

function kindsHint(text: string): readonly [number, readonly Kind[]] {
  const match = /^(\d+)=(.+)$/.exec(text);
  const named = (match?.[2] ?? "").split("+");
  const kinds = KINDS.filter((kind) => named.includes(kind));
  if (match === null || kinds.length !== named.length) {
    throw new UsageError(
      `--kinds ${JSON.stringify(text)} is not TYPE=KIND with kinds of ${KINDS.join(", ")}`,
    );
  }
  return [Number(match[1]), kinds];
}

function loopHint(text: string | null): DraftHints["loop"] {
  if (text === null) return null;
  const match = /^(.+):([^:]+):([^:]+)$/.exec(text);
  const [unit, low, high] = [match?.[1]?.trim() ?? "", Number(match?.[2]), Number(match?.[3])];
  if (unit === "" || !Number.isFinite(low) || !Number.isFinite(high) || low === high) {
    throw new UsageError(`--loop ${JSON.stringify(text)} is not UNIT:LOW:HIGH, e.g. bar:0:10`);
  }
  return { unit, low, high };
}
