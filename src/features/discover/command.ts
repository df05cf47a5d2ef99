import { existsSync, readFileSync } from "node:fs";
import { resolve } from "node:path";
import { type CommandContext, type Flags, UsageError } from "../../cli/command.ts";
import { flagAddress } from "../../cli/flag-address.ts";
import { outFile } from "../../cli/out-file.ts";
import { ProgressLine } from "../../cli/progress.ts";
import { writeOut } from "../../cli/write-out.ts";
import { faultLine } from "../../config/fault.ts";
import { loadSite } from "../../config/site.ts";
import { isJsonObject } from "../../core/record.ts";
import { normalCode, POLLED_KINDS, type PolledKind } from "../../core/sensor.ts";
import { messageOf } from "../../core/thrown.ts";
import { durableFiles } from "../../lib/durable-file.ts";
import { fileTrouble } from "../../lib/file-trouble.ts";
import { createWireNames } from "../../pipeline/wire/wire-names.ts";
import { AnalyticsClient } from "./client.ts";
import { type DraftHints, draftSite } from "./draft.ts";
import { AnalyticsFailure } from "./failure.ts";
import { findKinds, GatewayRefusal, kindSearchOf } from "./kind-search.ts";
import { survey } from "./survey.ts";

/**
 * Drafts a site file from the lists of an analytics service: 0 written, 1 the service returned nothing, 2 a wrong flag
 * or file.
 */
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
    throw new UsageError(`--out ${out} already exists; use --merge ${out} to add to it`);
  }
  const existing = merge === null ? null : readSite(resolve(cwd, merge), merge);
  const names = createWireNames({ word: flags.required("wire-word"), service: "" });
  const login = loginOf(flags, cwd);
  const search = kindSearchOf(flags);
  const url = flags.required("url");
  flagAddress("url", url);
  const client = new AnalyticsClient(
    url,
    login === null ? tokenOf(flags, cwd) : "",
    names,
    proxyOf(flags),
  );
  const progress = new ProgressLine(stderr);
  let result: ReturnType<typeof draftSite>;
  try {
    if (login !== null) await client.login(login.email, login.password, signal);
    const found = await survey(client, (text) => progress.show(`discover: ${text}`), signal);
    const fromGateway =
      search === null
        ? null
        : await findKinds(
            search,
            found,
            { types: new Set(hints.kinds.keys()), codes: codesOf(existing) },
            (text) => progress.show(`discover: ${text}`),
            signal,
          );
    const kinds = new Map([...(fromGateway?.kinds ?? []), ...hints.kinds]);
    const notes = [...found.notes, ...(fromGateway?.notes ?? [])];
    result = draftSite({ ...found, notes }, existing, { ...hints, kinds });
  } catch (error) {
    const isExpected = error instanceof AnalyticsFailure || error instanceof GatewayRefusal;
    if (!isExpected && !signal.aborted) throw error;
    stderr.write(`error: ${signal.aborted ? "stopped" : messageOf(error)}\n`);
    return 1;
  } finally {
    progress.end();
    await client.close();
  }
  for (const note of result.notes) stderr.write(`note: ${note}\n`);
  const text = `${JSON.stringify(result.site, null, 2)}\n`;
  const { faults } = loadSite(text, out ?? "draft");
  for (const fault of faults) stderr.write(`${faultLine(fault)}\n`);
  if (outPath === null) await writeOut(stdout, text, signal);
  else {
    try {
      durableFiles.write(outPath, text);
    } catch (error) {
      stderr.write(`error: ${outPath} ${fileTrouble(error, "written")}\n`);
      return 1;
    }
  }
  const where =
    out !== null
      ? ` in ${out}`
      : merge === null
        ? ""
        : ` to the draft on stdout; ${merge} is unchanged (--out ${merge} writes it)`;
  stderr.write(
    `Sensors added${where}: ${result.added}; already there: ${result.kept}. Run \`gateside check\` next.\n`,
  );
  return faults.length === 0 ? 0 : 1;
}

function proxyOf(flags: Flags): string | null {
  const proxy = flags.text("proxy");
  if (proxy !== null) flagAddress("proxy", proxy);
  return proxy;
}

function tokenOf(flags: Flags, cwd: string): string {
  return fileOf("token-file", flags, cwd) ?? flags.required("token");
}

/** The content of the flag's file, trimmed; null if the flag is not set. */
function fileOf(flag: string, flags: Flags, cwd: string): string | null {
  const file = flags.text(flag);
  if (file === null) return null;
  try {
    return readFileSync(resolve(cwd, file), "utf8").trim();
  } catch (error) {
    throw new UsageError(`--${flag}: ${resolve(cwd, file)} ${fileTrouble(error)}`);
  }
}

/** E-mail and password of a login; null if a token is used instead. */
function loginOf(
  flags: Flags,
  cwd: string,
): { readonly email: string; readonly password: string } | null {
  const email = flags.text("email");
  const password = fileOf("password-file", flags, cwd);
  const hasToken = flags.text("token") !== null || flags.text("token-file") !== null;
  if (email === null && password === null) {
    if (!hasToken)
      throw new UsageError("use --token, --token-file, or --email with --password-file");
    return null;
  }
  if (hasToken) throw new UsageError("use a token, or --email with --password-file, but not both");
  if (email === null) throw new UsageError("--password-file requires --email");
  if (password === null)
    throw new UsageError("--email requires --password-file, a file that contains the password");
  return { email, password };
}

/** As written, without the checker's faults: they are reported for the merged file. */
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
    throw new UsageError(`--merge ${shown} is not valid JSON: ${messageOf(error)}`);
  }
  const site = isJsonObject(parsed) ? parsed : {};
  const { sensors } = site;
  const isList = Array.isArray(sensors) && sensors.every(isJsonObject);
  if (!isList)
    throw new UsageError(`--merge ${shown} is not a site file: it has no list of sensors`);
  return site;
}

function codesOf(site: Readonly<Record<string, unknown>> | null): ReadonlySet<string> {
  const sensors = site?.["sensors"];
  const list: readonly { readonly code?: unknown }[] = Array.isArray(sensors) ? sensors : [];
  return new Set(list.map(({ code }) => normalCode(String(code))));
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

function kindsHint(text: string): readonly [number, readonly PolledKind[]] {
  const match = /^(\d+)=(.+)$/.exec(text);
  const named = (match?.[2] ?? "").split("+");
  const kinds = POLLED_KINDS.filter((kind) => named.includes(kind));
  if (match === null || kinds.length !== named.length) {
    throw new UsageError(
      `--kinds ${JSON.stringify(text)} is not TYPE=KIND with kinds of ${POLLED_KINDS.join(", ")}`,
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
