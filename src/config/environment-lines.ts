/**
 * Reads a file of NAME=value lines. Node's parser skips nothing: a line without `=` becomes part of the next name, and
 * that setting is lost. Such lines are left out here and reported by number, never by content: it may be a password.
 */
import { parseEnv } from "node:util";
import type { ConfigurationFault } from "../core/configuration/configuration-fault.ts";
import { isSettingName } from "./settings-table.ts";

export interface EnvironmentLines {
  readonly values: Readonly<Record<string, string | undefined>>;
  readonly warnings: readonly ConfigurationFault[];
}

function assignmentOf(line: string): { readonly name: string; readonly value: string } {
  const at = line.indexOf("=");
  if (at < 0) return { name: "", value: "" };
  const name = line
    .slice(0, at)
    .trim()
    .replace(/^export\s+/, "");
  return { name, value: line.slice(at + 1).trimStart() };
}
const NAME = /^[A-Za-z_][A-Za-z0-9_.-]*$/;

/** `path` is shown before the number of a line. */
export function parseEnvironmentLines(text: string, path: string): EnvironmentLines {
  const warnings: ConfigurationFault[] = [];
  const kept: string[] = [];
  const places = new Map<string, { readonly line: number; readonly value: string }>();
  const lines = text.replace(/^\uFEFF/, "").split(/\r\n|\n|\r/);
  for (let i = 0; i < lines.length; i++) {
    const line = lines[i] ?? "";
    const warn = (problem: string, remedy: string) =>
      void warnings.push({ place: `${path}:${i + 1}`, problem, remedy });
    if (/^\s*(#|$)/.test(line)) continue;
    const { name, value } = assignmentOf(line);
    if (!NAME.test(name)) {
      warn("is not a NAME=value line and has no effect", "correct it, or put a # in front of it");
      continue;
    }
    const earlier = places.get(name);
    if (earlier !== undefined && earlier.value !== value && isSettingName(name))
      warn(
        `sets ${name} to another value than line ${earlier.line}, and the last line counts`,
        "keep one of the two",
      );
    places.set(name, { line: i + 1, value });
    kept.push(line);
    const quote = /^["'`]/.exec(value)?.[0];
    if (quote === undefined) {
      const isCut = /[^\s#]#/.test(value) && isSettingName(name);
      if (isCut)
        warn(`the value of ${name} ends at the #`, "put it in quotes if the # is part of it");
      continue;
    }
    if (value.indexOf(quote, 1) !== -1) continue;
    // A quoted value may continue on the following lines.
    const end = lines.findIndex((later, at) => at > i && later.includes(quote));
    if (end === -1) {
      warn(
        `the quote before the value of ${name} is not closed, so it is part of the value`,
        "close the quote, or remove it",
      );
      continue;
    }
    const swallowed = lines.slice(i + 1, end + 1);
    if (swallowed.some((later) => isSettingName(assignmentOf(later).name))) {
      warn(
        `the quote before the value of ${name} is closed only in line ${end + 1}, so the settings up to there are part of the value`,
        "close the quote in its own line",
      );
    }
    kept.push(...swallowed);
    i = end;
  }
  return { values: parseEnv(kept.join("\n")), warnings };
}
