import { createPrivateKey, generateKeyPairSync, type KeyObject } from "node:crypto";
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { resolve } from "node:path";
import { type CommandContext, UsageError } from "../../cli/command.ts";
import { faultLine } from "../../config/fault.ts";
import { loadSite } from "../../config/site.ts";
import { readUplinks, siteRules } from "../../config/uplinks.ts";
import { placedIn } from "../../config/written-file.ts";
import type { ConfigurationFault } from "../../core/configuration/configuration-fault.ts";
import { isJsonObject } from "../../core/record.ts";
import { DAY_MS } from "../../core/time-units.ts";
import { fileTrouble } from "../../lib/file-trouble.ts";
import { DOCUMENT_BYTES_MAX, type SignedContent, signDocument } from "./signed-document.ts";

const DAYS_MAX = 3650;
/** Readable by nobody else. */
const PRIVATE_MODE = 0o600;

/** Creates a key pair, or a signed document of site and uplinks files, for `agent/cmd/site`. */
export async function run(context: CommandContext): Promise<number> {
  const { flags, stdout, stderr } = context;
  const newKey = flags.text("new-key");
  if (newKey !== null) return makeKeys(newKey, context);
  const key = readKey(resolve(context.cwd, flags.required("key")));
  const content: SignedContent = {
    ...part("site", flags.text("site-file"), context.cwd),
    ...part("uplinks", flags.text("uplinks-file"), context.cwd),
  };
  if (content.site === undefined && content.uplinks === undefined)
    throw new UsageError("--site-file or --uplinks-file is required");
  const named: unknown = content.site === undefined ? null : Reflect.get(content.site, "site");
  const site = flags.text("site") ?? (typeof named === "string" ? named : null);
  if (site === null) throw new UsageError("--site is required where no site file names it");
  const version = flags.number("version", {
    min: 1,
    max: Number.MAX_SAFE_INTEGER,
    isInteger: true,
  });
  const days = flags.number("days", { min: 0.001, max: DAYS_MAX }) ?? 7;
  const nowMs = Date.now();
  const text = signDocument(
    // The time in seconds always increases, whoever signs.
    {
      site,
      version: version ?? Math.floor(nowMs / 1000),
      notAfterMs: nowMs + days * DAY_MS,
      content,
    },
    key,
  );
  if (Buffer.byteLength(text) > DOCUMENT_BYTES_MAX)
    throw new UsageError(
      `the document exceeds ${DOCUMENT_BYTES_MAX} bytes, so agents would refuse it`,
    );
  // Signed all the same: boxes of another version may accept it.
  const [siteFile, uplinksFile] = [flags.text("site-file") ?? "", flags.text("uplinks-file") ?? ""];
  const faults = [...siteFaults(content, siteFile), ...uplinksFaults(content, uplinksFile)];
  if (typeof named === "string" && named !== site)
    faults.push({
      place: `${siteFile}: site`,
      problem: `is "${named}", but the document is for "${site}"`,
      remedy: "give the same name to --site, or leave that out",
    });
  for (const fault of faults)
    stderr.write(`warning: boxes of this version refuse it: ${faultLine(fault)}\n`);
  stdout.write(`${text}\n`);
  return Promise.resolve(0);
}

function siteFaults({ site, uplinks }: SignedContent, path: string): readonly ConfigurationFault[] {
  if (site === undefined) return [];
  return loadSite(JSON.stringify(site), path, siteRules(null, JSON.stringify(uplinks ?? {})))
    .faults;
}

/** By its schema alone: what the file names (certificates, secrets) is on the box. */
function uplinksFaults({ uplinks }: SignedContent, path: string): readonly ConfigurationFault[] {
  return uplinks === undefined
    ? []
    : placedIn(path, readUplinks(JSON.stringify(uplinks), path).faults);
}

function makeKeys(name: string, { cwd, stderr }: CommandContext): number {
  const privatePath = resolve(cwd, `${name}.key.pem`);
  const publicPath = resolve(cwd, `${name}.pub.pem`);
  for (const path of [privatePath, publicPath])
    if (existsSync(path))
      throw new UsageError(`${path} already exists; keys are never overwritten`);
  const { privateKey, publicKey } = generateKeyPairSync("ed25519");
  const privatePem = privateKey.export({ type: "pkcs8", format: "pem" });
  writeFileSync(privatePath, privatePem, { mode: PRIVATE_MODE, flag: "wx" });
  writeFileSync(publicPath, publicKey.export({ type: "spki", format: "pem" }), { flag: "wx" });
  stderr.write(
    `${privatePath}: keep it where documents are signed, never on a box\n${publicPath}: CONFIG_PUBLIC_KEY_FILE of every box\n`,
  );
  return 0;
}

function readKey(path: string): KeyObject {
  let pem: string;
  try {
    pem = readFileSync(path, "utf8");
  } catch (error) {
    throw new UsageError(`--key ${path} ${fileTrouble(error)}`);
  }
  try {
    const key = createPrivateKey(pem);
    if (key.asymmetricKeyType === "ed25519") return key;
  } catch {
    // Reported below.
  }
  throw new UsageError(
    `--key ${path} is not a private Ed25519 key in PEM; \`gateside sign --new-key NAME\` creates one`,
  );
}

function part(name: "site" | "uplinks", path: string | null, cwd: string): SignedContent {
  if (path === null) return {};
  let value: unknown;
  try {
    value = JSON.parse(readFileSync(resolve(cwd, path), "utf8").replace(/^\uFEFF/, ""));
  } catch (error) {
    const words =
      error instanceof SyntaxError ? `is not JSON: ${error.message}` : fileTrouble(error);
    throw new UsageError(`--${name}-file ${path} ${words}`);
  }
  if (!isJsonObject(value)) throw new UsageError(`--${name}-file ${path} is not a JSON object`);
  return { [name]: value };
}
