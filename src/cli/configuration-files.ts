import { readFileSync } from "node:fs";
import { watchEnvironment } from "../config/environment-file.ts";
import { readSecretFile } from "../config/secret-file.ts";
import { type LoadedSettings, watchSettings } from "../config/settings.ts";
import { SETTING_NAMES, SETTINGS, type SettingName } from "../config/settings-table.ts";
import { loadSite, type WrittenSite } from "../config/site.ts";
import { loadUplinks } from "../config/uplinks.ts";
import { configurationDigest, settingDigest } from "../core/configuration/configuration-digest.ts";
import type {
  ConfigurationFiles,
  ConfigurationTexts,
} from "../core/configuration/configuration-files.ts";
import { MAIN_UPLINK } from "../core/uplink.ts";
import type { CommandContext } from "./command.ts";
import { type ConfigurationReport, examineFiles } from "./configuration.ts";

/**
 * Settings and files as the running agent reads them again, next to those it was started with.
 * @param started the site file that it was started with
 */
export function createConfigurationFiles(
  context: Pick<CommandContext, "env" | "cwd" | "flags">,
  running: LoadedSettings,
  started: WrittenSite | null = null,
): ConfigurationFiles {
  let known = started;
  const environmentNow = watchEnvironment(context.env);
  const settingsNow = watchSettings({
    cwd: context.cwd,
    envFile: context.flags.text("environment"),
  });
  return {
    // With the running settings: changed ones wait for the restart, even wrong ones.
    examine(proposed = {}, pending) {
      const texts = { ...textsOf(running), ...proposed };
      const { configuration, faults, warnings, written } = examineFiles(
        running,
        texts,
        pending,
        known,
      );
      // A proposed file may never come into effect.
      if (proposed.site === undefined) known = written ?? known;
      return {
        site: faults.length === 0 ? (configuration?.site ?? null) : null,
        uplinks: faults.length === 0 ? (configuration?.uplinks ?? null) : null,
        faults,
        warnings,
        texts,
      };
    },
    settings: () => settingsWithoutSecrets(running),
    secretSettings: () => SETTING_NAMES.filter((name) => holdsSecret(running, name)),
    texts: () => textsOf(running),
    pendingRestart: () => differing(running, settingsNow(environmentNow())),
    compare: (nonce, digests, withSecrets) =>
      SETTING_NAMES.filter((name) => {
        if (SETTINGS[name].secret && !withSecrets) return false;
        const digest = digests[name];
        if (digest === undefined) return false;
        const inUse = [running.valueOf(name), ...renewedSecret(running, name)];
        return inUse.every((value) => digest !== settingDigest(nonce, name, value));
      }),
    sensor(written) {
      const { site, faults } = loadSite(JSON.stringify({ site: "-", sensors: [written] }), "");
      const [value] = site?.sensors ?? [];
      return value === undefined ? { faults } : { value };
    },
    uplink(written, pending) {
      const text = JSON.stringify({ uplinks: [written] });
      const { site } = examineFiles(running, {}, undefined, known);
      const { uplinks, faults } = loadUplinks(text, running.shown.UPLINKS_FILE, {
        site,
        main: null,
        commandsEnabled: running.shown.COMMANDS_ENABLED === "true",
        ...(pending && { pending }),
      });
      const [value] = uplinks ?? [];
      return value === undefined ? { faults } : { value };
    },
  };
}

/** Names of the settings that differ between two loads. */
function differing(a: LoadedSettings, b: LoadedSettings): SettingName[] {
  return SETTING_NAMES.filter(
    (name) =>
      a.valueOf(name) !== b.valueOf(name) &&
      !renewedSecret(a, name).some((value) => value === b.valueOf(name)),
  );
}

/** What the file of the broker's user name, password or proxy holds now: it takes effect without a restart. */
function renewedSecret({ secretFiles }: LoadedSettings, name: SettingName): string[] {
  const path = secretFiles[name];
  if (path === undefined || !/^MQTT_(USERNAME|PASSWORD|PROXY)$/.test(name)) return [];
  const secret = readSecretFile(name, path, name, () => {});
  return secret === null ? [] : [secret];
}

/**
 * For `compare`: every setting except secrets that the client did not send, because it may not be allowed to read them.
 */
export function settingDigests(nonce: string, loaded: LoadedSettings): Record<string, string> {
  return Object.fromEntries(
    SETTING_NAMES.filter((name) => !SETTINGS[name].secret || loaded.valueOf(name) !== "").map(
      (name) => [name, settingDigest(nonce, name, loaded.valueOf(name))],
    ),
  );
}

/** Settings as `check` shows them, without secrets: a configuration id is derived from them. */
export function settingsShown(loaded: LoadedSettings): Record<string, string> {
  const hidden = (name: SettingName) => SETTINGS[name].secret && !name.endsWith("_URL");
  return Object.fromEntries(
    SETTING_NAMES.filter((name) => !hidden(name)).map((name) => [name, loaded.shown[name]]),
  );
}

/** The id of a configuration; null while it has faults. */
export function digestOf({ configuration, loaded }: ConfigurationReport): string | null {
  if (configuration === null) return null;
  const others = configuration.uplinks.filter(({ name }) => name !== MAIN_UPLINK);
  return configurationDigest(settingsShown(loaded), configuration.site, others);
}

/** They are shown without user name, password and query: whoever restores a backup needs them. Other addresses are secrets as a whole. */
const ADDRESSES: ReadonlySet<SettingName> = new Set(["GATEWAY_URL", "MQTT_URL"]);

/** For backups. */
function settingsWithoutSecrets({ shown }: LoadedSettings): Record<string, string> {
  const names = SETTING_NAMES.filter((name) => !SETTINGS[name].secret || ADDRESSES.has(name));
  return Object.fromEntries(names.map((name) => [name, shown[name]]));
}

function holdsSecret(running: LoadedSettings, name: SettingName): boolean {
  if (!SETTINGS[name].secret) return false;
  const text = ADDRESSES.has(name) ? running.valueOf(name) : running.shown[name];
  return ADDRESSES.has(name) ? /\/\/[^/?#,]*@|\?/.test(text) : text !== "";
}

function textsOf({ shown }: LoadedSettings): ConfigurationTexts {
  return { site: textOf(shown.SITE_FILE), uplinks: textOf(shown.UPLINKS_FILE) };
}

function textOf(path: string): string | null {
  if (path === "") return null;
  try {
    return readFileSync(path, "utf8");
  } catch {
    return null;
  }
}
