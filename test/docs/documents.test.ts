import assert from "node:assert/strict";
import { existsSync, readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { test } from "node:test";
import { COMMANDS } from "../../src/cli/commands.ts";
import { parseFlags } from "../../src/cli/parse-flags.ts";
import { createCollectMetrics } from "../../src/collect/metrics.ts";
import type { FeatureSpec } from "../../src/features/feature.ts";
import { SPECS } from "../../src/features/specs.ts";
import { apiOperations } from "../../src/http/api-document.ts";
import { sensorSeries } from "../../src/http/sensor-series.ts";
import { createMetrics } from "../../src/lib/metrics.ts";
import { codeBlocks, DOCUMENTS, inlineCode, shellLines } from "../support/documents.ts";

/** Words of a `gateside …` call, comments, pipes and redirections cut off. */
function calls(text: string): string[][] {
  // A value in quotation marks is one word, and so is what a shell reads from a file.
  const plain = text.replace(/\$\([^)]*\)/g, "X").replace(/"[^"]*"/g, "TEXT");
  return [...plain.matchAll(/(?:^|[;&|] *|sudo |\s)gateside +([^;&|>#]+)/g)].map(([, words = ""]) =>
    words.trim().split(/\s+/),
  );
}

function faultOf(words: readonly string[]): string | null {
  const [name = "", ...rest] = words[0]?.startsWith("@") ? words.slice(1) : words;
  if (name === "--help" || name === "--version") return null;
  const command = COMMANDS.find((c) => c.name === name);
  // `gateside COMMAND` stands for any of them.
  if (command === undefined) return /^[A-Z]+$/.test(name) ? null : `${name} is no command`;
  // `gateside probe` in a sentence names the command alone.
  if (rest.length === 0 || rest.includes("--help")) return null;
  try {
    const firstFlag = rest.findIndex((word) => word.startsWith("--"));
    const flags = firstFlag < 0 ? [] : rest.slice(firstFlag);
    parseFlags(command.operands === undefined ? rest : flags, command.flags);
    return null;
  } catch (error) {
    return error instanceof Error ? error.message : String(error);
  }
}

for (const document of DOCUMENTS) {
  test(`${document} – every gateside command in it exists with its flags`, () => {
    const typed = codeBlocks(document).flatMap(shellLines);
    const named = inlineCode(document).filter((code) => code.startsWith("gateside "));
    for (const text of [...typed, ...named]) {
      for (const words of calls(text)) assert.equal(faultOf(words), null, text);
    }
  });

  test(`${document} – links and pictures have a target`, () => {
    const text = readFileSync(document, "utf8").replace(/^ *```[\s\S]*?^ *```/gm, "");
    for (const [link, target = ""] of text.matchAll(/\]\(([^)\s]+)\)/g)) {
      if (/^[a-z]+:/.test(target)) continue;
      const [path = "", anchor] = target.split("#");
      const file = path === "" ? document : join(dirname(document), path);
      assert.ok(existsSync(file), `${link}: ${file} is missing`);
      if (anchor !== undefined && file.endsWith(".md"))
        assert.ok(anchorsOf(file).includes(anchor), `${link}: no such heading`);
    }
  });

  test(`${document} – every npm script and file it mentions exists`, () => {
    const { scripts } = JSON.parse(readFileSync("package.json", "utf8")) as {
      scripts: Record<string, string>;
    };
    const texts = [...inlineCode(document), ...codeBlocks(document).flatMap(shellLines)];
    for (const text of texts) {
      const [, script] = /npm run ([a-z:-]+)/.exec(text) ?? [];
      if (script !== undefined) assert.ok(script in scripts, text);
      const [path] = /\bscripts\/[\w./-]+\w/.exec(text) ?? [];
      if (path !== undefined) assert.ok(existsSync(path), text);
    }
  });

  test(`${document} – the source files it names exist`, () => {
    for (const code of inlineCode(document)) {
      if (!/^[\w./-]+\.(ts|proto)$/.test(code) || !code.includes("/")) continue;
      assert.ok(existsSync(code) || existsSync(join("src", code)), code);
    }
  });

  test(`${document} – shell commands are marked as such, and therefore checked`, () => {
    for (const block of codeBlocks(document)) {
      if (["sh", "console"].includes(block.language)) continue;
      for (const line of block.lines) {
        assert.doesNotMatch(
          line,
          /^\s*(sudo|gateside|npm|curl|\$) /,
          `${document}:${block.line}: mark the block as sh or console`,
        );
      }
    }
  });
}

test("documents, alert rules and dashboard name only metrics that exist", async () => {
  const series = await sensorSeries("plant-7", [], 0);
  const known = new Set(
    createMetrics()
      .registry.getMetricsAsArray()
      .map(({ name }) => name)
      .concat(
        SPECS.flatMap(({ metrics = [] }: FeatureSpec) => metrics.map(({ name }) => name)),
        createCollectMetrics("g")
          .registry.getMetricsAsArray()
          .map(({ name }) => name),
      )
      .concat([...series.matchAll(/^# TYPE (\w+)/gm)].map(([, name = ""]) => name))
      // Roles and the table of steps in the collectors' database are named alike.
      .concat(
        "gateside_owner",
        "gateside_collect",
        "gateside_writer",
        "gateside_reader",
        "gateside_schema",
      ),
  );
  const files = [...DOCUMENTS, "config/prometheus-alerts.yml", "config/grafana-dashboard.json"];
  for (const file of files) {
    for (const [name] of readFileSync(file, "utf8").matchAll(/\bgateside_[a-z_]+[a-z]\b/g)) {
      const bare = name.replace(/_(bucket|count|sum)$/, "");
      assert.ok(known.has(name) || known.has(bare), `${file}: ${name}`);
    }
  }
});

function anchorsOf(file: string): string[] {
  return [...readFileSync(file, "utf8").matchAll(/^#+ (.*)$/gm)].map(([, heading = ""]) =>
    heading
      .toLowerCase()
      .replace(/[^\p{L}\p{N} _-]/gu, "")
      .replaceAll(" ", "-"),
  );
}

test("docs/api.md – has every path that the agent describes, and no other", () => {
  const documented = [
    ...readFileSync("docs/api.md", "utf8").matchAll(/^\| `([A-Z]+ \/\S+)` \|/gm),
  ].map(([, call]) => call);
  const { paths } = apiOperations("1") as unknown as { paths: Record<string, object> };
  const served = Object.entries(paths).flatMap(([path, methods]) =>
    Object.keys(methods).map((method) => `${method.toUpperCase()} ${path}`),
  );
  assert.deepEqual(
    documented.toSorted(),
    served.filter((call) => call.includes("/api/")).toSorted(),
  );
});
