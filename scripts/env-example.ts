import type { SettingSpec } from "../src/config/setting-spec.ts";
import { SETTING_NAMES, SETTINGS } from "../src/config/settings-table.ts";

/** The two addresses that the agent requires, with example values. */
const SHOWN: Readonly<Record<string, string>> = {
  GATEWAY_URL: "http://gateway:8080",
  MQTT_URL: "mqtt://broker:1883",
};

const LINE_MAX = 140;

/** config/gateside.env.example as text; a test compares the committed file with it. */
export function envExample(): string {
  const entries = SETTING_NAMES.map((name) => {
    const spec: SettingSpec = SETTINGS[name];
    const shown = SHOWN[name];
    const line = shown === undefined ? `#${name}=${spec.default ?? ""}` : `${name}=${shown}`;
    const meaning = `${spec.doc}${spec.secret ? " Secret." : ""}${valuesOf(spec)}`;
    return `${comment(meaning)}\n${line}\n`;
  });
  return [
    "# Settings of Gateside. Copy to .env (or an EnvironmentFile of systemd) and uncomment what differs from the default.",
    "# For any secret X, you can set X_FILE=path instead. `gateside check` shows the values in effect.",
    "# Generated from the program's own table by `node --import tsx scripts/write-settings-doc.ts`.",
    "",
    ...entries,
  ].join("\n");
}

/** As comment lines of a readable length. */
function comment(text: string): string {
  return text.replace(new RegExp(`(.{1,${LINE_MAX}})(?: +|$)`, "g"), "# $1\n").trimEnd();
}

function valuesOf(spec: SettingSpec): string {
  switch (spec.type) {
    case "integer":
      return ` (a whole number from ${spec.minimum} to ${spec.maximum})`;
    case "number":
      return ` (a number from ${spec.minimum} to ${spec.maximum})`;
    case "boolean":
      return " (true or false)";
    case "choice":
      return ` (one of ${spec.choices.join(", ")})`;
    case "text":
    case "path":
      return "";
  }
}
