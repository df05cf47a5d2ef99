import type { SettingSpec } from "../src/config/setting-spec.ts";
import { SETTING_NAMES, SETTINGS } from "../src/config/settings-table.ts";

/** A test compares it with the unit files, the command and the Dockerfile. */
export const INSTALLATIONS = [
  {
    where: "service and `gateside COMMAND`",
    dataDir: "/var/lib/gateside",
    siteFile: "/etc/gateside/site.json",
    source: "`/etc/gateside/gateside.env`",
    files: ["systemd/gateside.service", "packaging/gateside.sh"],
  },
  {
    where: "instance `gateside@NAME` and `gateside @NAME COMMAND`",
    dataDir: "/var/lib/gateside/NAME",
    siteFile: "/etc/gateside/NAME.site.json",
    source: "`/etc/gateside/NAME.env`",
    files: ["systemd/gateside@.service", "packaging/gateside.sh"],
  },
  {
    where: "container",
    dataDir: "/data",
    siteFile: "/etc/gateside/site.json",
    source: "its environment",
    files: ["Dockerfile"],
  },
] as const;

/** docs/settings.md as text; a test compares the committed page with it. */
export function settingsPage(): string {
  const rows = SETTING_NAMES.map((name) => {
    const spec: SettingSpec = SETTINGS[name];
    const secret = spec.secret ? " *Secret.*" : "";
    return `| \`${name}\` | ${defaultOf(spec)} | ${rangeOf(spec)} | ${cell(spec.doc)}${secret} |`;
  });
  return [
    "# Settings",
    "",
    "All settings come from the environment, or from a `.env` file in the working directory; the environment takes precedence.",
    "`gateside check` shows the values in effect and where they come from. For every secret `X`, you can set `X_FILE` instead: a path",
    "whose trimmed content is the value. This page is generated from the program's own table by",
    "`node --import tsx scripts/write-settings-doc.ts`.",
    "",
    "| name | default | values | meaning |",
    "| --- | --- | --- | --- |",
    ...rows,
    "",
    "## What an installation changes",
    "",
    "Relative paths start at the working directory. The packages' `gateside.env` sets nothing (every line of it is a comment), but the",
    "service and the `gateside` command that come with the package or `scripts/install.sh`, and the container, set these in place of the defaults:",
    "",
    "| where | `DATA_DIR` | `SITE_FILE` | settings are read from |",
    "| --- | --- | --- | --- |",
    ...INSTALLATIONS.map(
      ({ where, dataDir, siteFile, source }) =>
        `| ${where} | \`${dataDir}\` | \`${siteFile}\` | ${source} |`,
    ),
    "",
    "Values in `gateside.env` (or the container's environment) take precedence over these. All other defaults are those above.",
    "",
  ].join("\n");
}

function defaultOf(spec: SettingSpec): string {
  if (spec.type === "text" && spec.required) return "**required**";
  const value = spec.default;
  return value === undefined || value === "" ? "–" : `\`${value}\``;
}

function rangeOf(spec: SettingSpec): string {
  switch (spec.type) {
    case "integer":
    case "number":
      return `${spec.minimum}–${spec.maximum}`;
    case "boolean":
      return "true, false";
    case "choice":
      return spec.choices.join(", ");
    case "path":
      return "text";
    case "text":
      return cell(spec.form ?? "text");
  }
}

function cell(text: string): string {
  return text.replaceAll("|", "\\|");
}
