import assert from "node:assert/strict";
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";

export const DOCUMENTS: readonly string[] = [
  "README.md",
  "ARCHITECTURE.md",
  "CHANGELOG.md",
  "SECURITY.md",
  "config/README.md",
  ...readdirSync("docs", { recursive: true, encoding: "utf8" })
    .filter((name) => name.endsWith(".md"))
    .sort()
    .map((name) => join("docs", name)),
];

export interface CodeBlock {
  readonly document: string;
  /** Line of its opening fence, from 1. */
  readonly line: number;
  /** The word after the fence; empty where there is none. */
  readonly language: string;
  readonly lines: readonly string[];
}

export function codeBlocks(document: string): CodeBlock[] {
  const blocks: CodeBlock[] = [];
  let open: { line: number; language: string; indent: string; lines: string[] } | null = null;
  readFileSync(document, "utf8")
    .split("\n")
    .forEach((text, at) => {
      const [, indent = "", language = ""] = /^( *)```(\S*)/.exec(text) ?? [];
      const isFence = /^ *```/.test(text);
      if (isFence && open === null) open = { line: at + 1, language, indent, lines: [] };
      else if (isFence && open !== null) {
        blocks.push({ document, line: open.line, language: open.language, lines: open.lines });
        open = null;
      } else open?.lines.push(text.startsWith(open.indent) ? text.slice(open.indent.length) : text);
    });
  return blocks;
}

/** What a block asks a shell to do: every line of `sh`, the lines after `$ ` of `console`; continued lines in one. */
export function shellLines(block: CodeBlock): string[] {
  const joined = block.lines
    .join("\n")
    .replace(/\\\n\s*/g, "")
    .split("\n");
  const typed =
    block.language === "console"
      ? joined.filter((line) => line.startsWith("$ ")).map((line) => line.slice(2))
      : block.language === "sh"
        ? joined
        : [];
  return typed.filter((line) => line.trim() !== "" && !line.trim().startsWith("#"));
}

/** A document's text between single backquotes, blocks aside. */
export function inlineCode(document: string): string[] {
  const text = readFileSync(document, "utf8").replace(/^ *```[\s\S]*?^ *```/gm, "");
  return [...text.matchAll(/`([^`\n]+)`/g)].map(([, code = ""]) => code);
}

export const textOf = (block: CodeBlock) => block.lines.join("\n");
export const titleOf = ({ document, line, language }: CodeBlock) =>
  `${document}:${line} (${language})`;

/** The one block of a language that contains `mark`. */
export function only(document: string, language: string, mark: string): CodeBlock {
  const [block, ...more] = codeBlocks(document).filter(
    (one) => one.language === language && textOf(one).includes(mark),
  );
  assert.ok(block && more.length === 0, `one ${language} block with ${mark} in ${document}`);
  return block;
}
