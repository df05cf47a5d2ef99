/** Runs what the documents tell a reader to type, in their order, beside a simulated plant, brokers, a database and the built agent. */

import assert from "node:assert/strict";
import { existsSync, readFileSync, rmSync } from "node:fs";
import { resolve } from "node:path";
import { after, before, test } from "node:test";
import { bundleTests } from "../../scripts/test/bundle.mjs";
import { deadlineMs } from "../support/deadline.ts";
import {
  type CodeBlock,
  codeBlocks,
  DOCUMENTS,
  inlineCode,
  shellLines,
} from "../support/documents.ts";
import { openDocumentsMachine } from "../support/documents-machine.ts";
import { skipWithoutMosquitto } from "../support/mosquitto.ts";
import { skipWithoutPostgres } from "../support/postgres.ts";

/** What needs hours, or a machine that it may change, is run by a script, which must really do it. */
const ELSEWHERE: readonly { line: RegExp; script: string; does: RegExp }[] = [
  { line: /^npm cit$/, script: ".ci/run", does: /npm cit/ },
  { line: /^npm run demo$/, script: ".ci/run", does: /npm run demo/ },
  { line: /^npm ci && npm run build$/, script: ".ci/run", does: /npm ci|npm cit/ },
  { line: /^sha256sum /, script: "scripts/check-packages.sh", does: /sha256sum .*-c SHA256SUMS/ },
  { line: /^sudo dpkg -i /, script: "scripts/check-packages.sh", does: /dpkg -i / },
  { line: /^sudo dpkg -r /, script: "scripts/check-packages.sh", does: /dpkg -r / },
  { line: /^sudo dpkg -P /, script: "scripts/check-packages.sh", does: /dpkg -P / },
  {
    line: /^sudo systemctl (enable --now|start|restart|stop) gateside(@north)?$/,
    script: "scripts/check-systemd.sh",
    does: /systemctl enable --now gateside/,
  },
  {
    line: /^sudo gateside rollback/,
    script: "test/pipeline/store/database/rollback.test.ts",
    does: /rollback/,
  },
  { line: /^gateside @north status/, script: "scripts/check-packages.sh", does: /gateside @north/ },
];
const elsewhere = (line: string) => ELSEWHERE.find((entry) => entry.line.test(line));

const { scripts } = JSON.parse(readFileSync("package.json", "utf8")) as {
  scripts: Record<string, string>;
};
const NPM_RUN = /^npm run ([a-z]+)( -- ([^#]*))?/;
const SCRIPT = /^(.* && )?node --import tsx (scripts\/\S+)/;
const scriptOf = (line: string) => SCRIPT.exec(scripts[NPM_RUN.exec(line)?.[1] ?? ""] ?? "")?.[2];

/**
 * What would run for minutes or hours is asked for its help instead: an option that does not exist is refused all the same. Without the build that comes first:
 * other tests run what is in dist/.
 */
function asHelp(line: string): string | null {
  const script = scriptOf(line);
  if (script === undefined) return null;
  const [, , , words = ""] = NPM_RUN.exec(line) ?? [];
  return `cd '${resolve(".")}' && node ${compiled.compiled(resolve(script))} ${words} --help`;
}

const blocks = DOCUMENTS.flatMap(codeBlocks).filter(
  ({ language }) => language === "sh" || language === "console",
);
const skip =
  skipWithoutMosquitto ||
  skipWithoutPostgres ||
  (existsSync("dist/gateside.js") ? false : "dist/ is not built");

/** Commands in sentences that a reader can type as they stand: with flags, without a placeholder (`ID`, `…`). */
const TYPED = /^(sudo )?(gateside [a-z-]+ |cat )(?!.*(\b[A-Z]+\b|…))/;
/** They run until somebody ends them; the machine of this test runs one of each. */
const ENDLESS = /^gateside (run|simulate|demo|collect (?!.*--migrate-only))/;
const sentences = DOCUMENTS.filter((document) => document !== "CHANGELOG.md").flatMap((document) =>
  inlineCode(document)
    .filter((code) => TYPED.test(code) && !ENDLESS.test(code))
    .map((code) => [code, document] as const),
);

let machine: Awaited<ReturnType<typeof openDocumentsMachine>>;
/** Loading TypeScript anew for each line would take as long as all else here. */
let compiled: Awaited<ReturnType<typeof bundleTests>>;
before(async () => {
  if (skip) return;
  const lines = blocks.flatMap(shellLines).filter((line) => !elsewhere(line));
  const paths = lines.map(scriptOf).filter((path) => path !== undefined);
  compiled = await bundleTests(
    resolve("."),
    [...new Set(paths)].map((path) => resolve(path)),
  );
  machine = await openDocumentsMachine();
});
after(async () => {
  if (compiled) rmSync(compiled.directory, { recursive: true, force: true });
  await machine?.close();
});

/** No box publishes to the machine of this test, which is what `gateside fleet` then says. */
const NO_BOX = /^warning: (?:no box has arrived|the broker has retained nothing of a box)/m;

/** An answer as printed, `…` standing for anything. */
function answerOf(block: CodeBlock): RegExp | null {
  const isTyped = (line: string, at: number) =>
    line.startsWith("$ ") || block.lines[at - 1]?.endsWith("\\") === true;
  const printed = block.lines.filter((line, at) => !isTyped(line, at));
  if (block.language !== "console" || printed.length === 0) return null;
  const escaped = printed.join("\n").replace(/[.*+?^${}()|[\]\\]/g, "\\$&");
  return new RegExp(escaped.replaceAll("…", "[^]*"));
}

for (const block of blocks) {
  test(`${block.document}:${block.line} – the commands that it shows work, and print what it says`, {
    skip,
    timeout: deadlineMs(120_000),
  }, async () => {
    let printed = "";
    for (const line of shellLines(block)) {
      const other = elsewhere(line);
      const service = machine.services.get(line);
      if (service) await service();
      else if (other)
        assert.match(readFileSync(other.script, "utf8"), other.does, `${line}: ${other.script}`);
      else {
        const help = asHelp(line);
        const { status, stdout, stderr } = machine.run(help ?? line);
        assert.equal(status, NO_BOX.test(stderr) ? 1 : 0, `${line}\n${stdout}${stderr}`);
        if (help !== null) assert.notEqual(stdout, "", line);
        printed += stdout;
      }
    }
    const answer = answerOf(block);
    if (answer) assert.match(printed, answer);
  });
}

for (const [line, document] of new Map(sentences)) {
  test(`${document} – \`${line}\` works`, { skip, timeout: deadlineMs(120_000) }, () => {
    const { status, stdout, stderr } = machine.run(line);
    assert.equal(status, 0, `${stdout}${stderr}`);
  });
}
