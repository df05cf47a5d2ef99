import { SETTING_NAMES, SETTINGS, type SettingSpec } from "../src/config/settings-table.ts";

/** docs/settings.md as text; a test holds the committed page against it. */
export function settingsPage(): string {
  const rows = SETTING_NAMES.map((name) => {
    const spec: SettingSpec = SETTINGS[name];
    const secret = spec.secret ? " *Secret.*" : "";
    return `| \`${name}\` | ${defaultOf(spec)} | ${rangeOf(spec)} | ${cell(spec.doc)}${secret} |`;
  });
  return [
    "# Settings",
    "",
    "Everything the agent can be told comes from the environment, or from a `.env` file in its working directory (the environment",
    "wins). `gateside check` shows what is in effect and where it comes from. Every secret `X` can be given as `X_FILE` instead: a path",
    "whose trimmed content is the value. This page is written from the program's own table by",
    "`node --import tsx scripts/write-settings-doc.ts`.",
    "",
    "| name | default | values | meaning |",
    "| --- | --- | --- | --- |",
    ...rows,
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
    case "text":
      return cell(spec.form ?? "text");
  }
}

function cell(text: string): string {
  return text.replaceAll("|", "\\|");
}
