import { existsSync } from "node:fs";
import { resolve } from "node:path";
import { INSTANCE } from "../../agent/instance.ts";
import { AgentFailure, createAgentClient } from "../../cli/agent-client.ts";
import { type CommandContext, UsageError } from "../../cli/command.ts";
import { examineConfiguration, requireConfiguration } from "../../cli/configuration.ts";
import { createConfigurationFiles, digestOf } from "../../cli/configuration-files.ts";
import { asOwnerOf } from "../../lib/as-owner.ts";
import { writeNewFile } from "../../lib/durable-file.ts";
import { fileTrouble } from "../../lib/file-trouble.ts";
import { nativeBinding } from "../../lib/paths.ts";
import { VERSION } from "../../lib/version.ts";
import { storedMeta } from "../../pipeline/store/read-only-store.ts";
import { backupOf } from "./restore.ts";
import type { BackupOutcome } from "./shown.ts";

const PRIVATE_MODE = 0o600;

/** The configuration as one document: 0 written, 1 it cannot be written. */
export async function run(context: CommandContext): Promise<number> {
  const out = context.flags.required("out");
  const path = resolve(context.cwd, out);
  if (out !== "-" && existsSync(path))
    throw new UsageError(`--out ${out}: the file exists; a backup never overwrites one`);
  const made = await madeBackup(context);
  if ("detail" in made) {
    context.stderr.write(`error: ${made.detail}\n`);
    return 1;
  }
  const text = `${JSON.stringify(made.backup, null, 2)}\n`;
  if (out === "-") {
    context.stdout.write(text);
    return 0;
  }
  try {
    writeNewFile(path, text, PRIVATE_MODE);
    return 0;
  } catch (error) {
    context.stderr.write(`error: ${path} ${fileTrouble(error, "written")}\n`);
    return 1;
  }
}

/** By the running agent; of the files where none is running. */
async function madeBackup(context: CommandContext): Promise<BackupOutcome> {
  const report = examineConfiguration(context);
  const { settings, site, uplinks } = requireConfiguration(report, context);
  try {
    const client = createAgentClient({ ...settings, httpPort: null });
    return { backup: await client.get<object>("/api/v1/setup/backup", context.signal) };
  } catch (error) {
    if (!(error instanceof AgentFailure)) throw error;
  }
  const configuration = createConfigurationFiles(context, report.loaded);
  const paths = { site: settings.siteFile, uplinks: settings.uplinksFile };
  const { dataDir } = settings;
  const instance = await asOwnerOf(dataDir, () => storedMeta(dataDir, INSTANCE, nativeBinding()));
  return backupOf(
    { configuration, paths, site, uplinks },
    { version: VERSION, instance, timeMs: Date.now(), configuration: digestOf(report) ?? "" },
  );
}
