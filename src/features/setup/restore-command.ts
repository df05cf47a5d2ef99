import { existsSync, readFileSync, statSync } from "node:fs";
import { dirname, join, resolve } from "node:path";
import { INSTANCE } from "../../agent/instance.ts";
import { AgentFailure, createAgentClient } from "../../cli/agent-client.ts";
import { type CommandContext, UsageError } from "../../cli/command.ts";
import {
  type ComparedConfiguration,
  examineConfiguration,
  loadProcessSettings,
} from "../../cli/configuration.ts";
import { createConfigurationFiles } from "../../cli/configuration-files.ts";
import { openOwnStore } from "../../cli/own-store.ts";
import type { UnboundSettings } from "../../config/settings.ts";
import {
  type ConfigurationFault,
  faultText,
} from "../../core/configuration/configuration-fault.ts";
import { EMPTY_SITE } from "../../core/configuration/empty-site.ts";
import { messageOf } from "../../core/thrown.ts";
import type { Uplink } from "../../core/uplink.ts";
import { asOwnerOf } from "../../lib/as-owner.ts";
import { systemClock } from "../../lib/clock.ts";
import { durableFiles, type PreparedFile, prepareFile } from "../../lib/durable-file.ts";
import { fileTrouble } from "../../lib/file-trouble.ts";
import { silentLogger } from "../../lib/logger.ts";
import { nativeBinding } from "../../lib/paths.ts";
import { createAudit } from "../../pipeline/store/audit.ts";
import { DirectoryLock } from "../../pipeline/store/database/directory-lock.ts";
import { StoreFailure } from "../../pipeline/store/database/store-failure.ts";
import { storedMeta } from "../../pipeline/store/read-only-store.ts";
import { type Backup, openBackup } from "./backup.ts";
import { FileVersions } from "./file-versions.ts";
import { examineRestore, runningRefusal } from "./restore.ts";
import { runningElsewhere } from "./running-elsewhere.ts";
import type { RestoreView } from "./shown.ts";

/** Far more than two files of thousands of sensors. */
const BACKUP_BYTES_MAX = 16 * 2 ** 20;
/** The agent closes and opens sessions before it responds. */
const RESTORE_TIMEOUT_MS = 60_000;

/** Restores a backup, through the running agent where there is one: 0 done or unchanged, 1 refused. */
export async function run(context: CommandContext): Promise<number> {
  const [file, ...more] = context.operands ?? [];
  if (file === undefined || more.length > 0)
    throw new UsageError("name one FILE, the backup to restore");
  const text = textOf(resolve(context.cwd, file));
  const opened = openBackup(text);
  if ("problem" in opened) return refused(context, `${opened.problem}; ${opened.remedy}`);
  const settings = loadProcessSettings(context);
  const site = context.flags.text("site");
  const isDryRun = context.flags.has("dry-run");
  const query = new URLSearchParams({
    ...(site === null ? {} : { site }),
    dryRun: String(isDryRun),
  });
  try {
    const client = createAgentClient({ ...settings, httpPort: null });
    const path = `/api/v1/setup/restore?${query.toString()}`;
    const { outcome, ...view } = await client.post<RestoreView & { readonly outcome: string }>(
      path,
      opened.backup,
      context.signal,
      RESTORE_TIMEOUT_MS,
    );
    const ending = view.nextStart
      ? "restored; in effect at the next start"
      : "restored; on trial: if links or reads get worse, the files of before come back";
    return shown(context, view, outcome === "saved" ? ending : null);
  } catch (error) {
    if (!(error instanceof AgentFailure)) throw error;
    if (error.code === "refused") return refused(context, error.message);
  }
  return whileStopped(context, settings, opened.backup, site, isDryRun);
}

function textOf(path: string): string {
  try {
    if (statSync(path).size > BACKUP_BYTES_MAX)
      throw new UsageError(`${path} exceeds ${BACKUP_BYTES_MAX} bytes, more than any backup`);
    return readFileSync(path, "utf8");
  } catch (error) {
    if (error instanceof UsageError) throw error;
    throw new UsageError(`${path} ${fileTrouble(error)}`);
  }
}

/** Checked and written; the next start uses it. */
async function whileStopped(
  context: CommandContext,
  settings: UnboundSettings,
  backup: Backup,
  repeated: string | null,
  isDryRun: boolean,
): Promise<number> {
  const { loaded, configuration: now, site } = examineConfiguration(context);
  const configuration = createConfigurationFiles(context, loaded);
  const { dataDir, siteFile, uplinksFile } = settings;
  const paths = { site: siteFile, uplinks: uplinksFile };
  const state = { configuration, paths, dataDir, site: site ?? EMPTY_SITE, policy: null };
  const examined = examineRestore(backup, repeated, { ...state, uplinks: now?.uplinks ?? [] });
  if ("outcome" in examined) {
    if (examined.outcome === "other_site") return refused(context, examined.detail);
    return refused(
      context,
      examined.faults.map((fault: ConfigurationFault) => faultText(fault)).join("\n"),
    );
  }
  const { texts, view, uplinks } = examined;
  const running =
    repeated === backup.site ? null : await runningBox(context, dataDir, backup, uplinks);
  if (running !== null) return refused(context, runningRefusal(running).detail);
  if (isDryRun || view.unchanged) return shown(context, view, null);
  const prepared = new Map<string, PreparedFile>();
  let lock: DirectoryLock;
  try {
    lock = await asOwnerOf(dataDir, () => DirectoryLock.take(dataDir, nativeBinding()));
  } catch (error) {
    if (!(error instanceof StoreFailure)) throw error;
    return refused(context, error.message);
  }
  try {
    const before = configuration.texts();
    for (const part of ["site", "uplinks"] as const) {
      const [path, replaced, text] = [paths[part], before[part], texts[part]];
      if (replaced !== null && replaced !== text)
        await asOwnerOf(dataDir, () => keepVersion(dataDir, part, replaced));
      if (path !== null && text !== null && replaced !== text)
        prepared.set(path, await asOwnerOf(dirname(path), () => prepareFile(path, text)));
    }
    // Both are on disk: neither needs more space.
    for (const [path, file] of prepared) await asOwnerOf(dirname(path), () => file.commit());
  } catch (error) {
    for (const [path, file] of prepared) await asOwnerOf(dirname(path), () => file.discard());
    return refused(context, `${messageOf(error)}; the files are as before`);
  } finally {
    lock.release();
  }
  const changes = [...view.changes, `disabled: ${view.disabled.join(", ") || "none"}`];
  try {
    await asOwnerOf(dataDir, () => audited(now, changes));
  } catch (error) {
    if (!(error instanceof StoreFailure)) throw error;
    context.stderr.write(`warning: not in the audit: ${error.message}\n`);
  }
  return shown(context, view, "restored; in effect at the next start");
}

function keepVersion(dataDir: string, part: "site" | "uplinks", text: string): void {
  const versions = new FileVersions(durableFiles, dataDir, part);
  versions.keep({ replacedAtMs: Date.now(), replacedBy: "gateside restore", text });
}

/** Where the box of the backup is online; null if no broker shows it. */
async function runningBox(
  context: CommandContext,
  dataDir: string,
  backup: Pick<Backup, "site" | "instance">,
  uplinks: readonly Uplink[],
): Promise<string | null> {
  const own = await asOwnerOf(dataDir, () => storedMeta(dataDir, INSTANCE, nativeBinding()));
  if (own !== null && own === backup.instance) return null;
  const { running, unasked } = await runningElsewhere(
    uplinks,
    backup.site,
    own,
    context.env["CREDENTIALS_DIRECTORY"] ?? null,
    context.signal,
  );
  for (const one of unasked)
    context.stderr.write(
      `warning: whether the box of this backup is running could not be asked at ${one}\n`,
    );
  return running;
}

/** In the store that the next agent opens; a box that never ran, or whose files had faults, has none. */
async function audited(
  now: ComparedConfiguration | null,
  changes: readonly string[],
): Promise<void> {
  if (now === null || !existsSync(join(now.settings.dataDir, "gateside.db"))) return;
  const store = openOwnStore(now);
  const audit = createAudit({ store, clock: systemClock, logger: silentLogger });
  audit("gateside restore", "configuration", "saved", changes.join("; "));
  await store.close();
}

function refused({ stderr }: CommandContext, detail: string): number {
  stderr.write(`error: ${detail}\n`);
  return 1;
}

function shown({ stdout }: CommandContext, view: RestoreView, ending: string | null): number {
  for (const line of view.changes) stdout.write(`${line}\n`);
  for (const one of view.disabled)
    stdout.write(
      `uplink ${one}: not used (enabled: false), because this box lacks these secrets\n`,
    );
  if (view.unchanged) stdout.write("unchanged\n");
  else if (ending !== null) stdout.write(`${ending}\n`);
  return 0;
}
