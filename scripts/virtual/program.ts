/** Bundles a program from sources, and runs it in a scope in which the world's clock, network and disk replace Node's. */
import { readFileSync, writeFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { compileFunction } from "node:vm";
import { type BuildOptions, build, context, type Plugin } from "esbuild";
import { BREAKS, type Break, broken } from "../chaos/breaks.ts";
import { compiledSchemas } from "../compiled-schemas.ts";

/** What a program finds instead of Node's own. */
const SCOPE = [
  ...(["module", "exports", "require", "globalThis", "global", "process", "performance"] as const),
  ...(["Date", "Math", "AbortSignal", "WebAssembly", "setTimeout", "setInterval"] as const),
  ...(["setImmediate", "clearTimeout", "clearInterval", "clearImmediate"] as const),
] as const;
type Scope = Readonly<Record<Exclude<(typeof SCOPE)[number], "module" | "exports">, unknown>>;

/** The agent's entry: what `gateside run` does, with its log and its end in our hands. */
const AGENT = `
export { openAgent } from "./src/agent/agent.ts";
export { examineConfiguration, requireConfiguration } from "./src/cli/configuration.ts";
export { createConfigurationFiles, settingsShown } from "./src/cli/configuration-files.ts";
export { loadSettings } from "./src/config/settings.ts";
export { SPECS } from "./src/features/specs.ts";
export { recoverTrial } from "./src/cli/recover-trial.ts";
export { Flags } from "./src/cli/command.ts";
export { openReadOnly } from "./src/pipeline/store/read-only-store.ts";
export { Identities } from "./src/pipeline/store/readings/identities.ts";
`;
/** What surrounds it. */
const PLANT = `
export { startSimulator } from "./src/simulator/server.ts";
export { RecordingHost } from "./scripts/chaos/recording-host.ts";
`;

export class Program {
  readonly path: string;
  readonly #text: string;
  /** V8's, of the first compilation. */
  #compiled: Buffer | undefined;

  constructor(path: string) {
    this.path = path;
    this.#text = readFileSync(path, "utf8");
  }

  evaluate(scope: Scope): unknown {
    const module = { exports: {} };
    const named: Readonly<Record<string, unknown>> = { ...scope, module, exports: module.exports };
    // A new function for each start, so nothing of an earlier one is kept.
    const cache = this.#compiled ? { cachedData: this.#compiled } : { produceCachedData: true };
    const run = compileFunction(this.#text, [...SCOPE], { filename: this.path, ...cache });
    this.#compiled ??= (run as { cachedData?: Buffer }).cachedData;
    run(...SCOPE.map((name) => named[name]));
    return module.exports;
  }
}

/** `tree` is a checkout of the sources; the result is a file that `Program` reads. */
export async function bundleAgent(
  tree: string,
  outfile: string,
  breaks: readonly Break[] = [],
): Promise<void> {
  // As the built program has them: compiling them at every look at the settings would take an eighth of the CPU.
  const isOurs = resolve(tree) === process.cwd();
  const plugins = [altered(resolve(tree), breaks), ...(isOurs ? [compiledSchemas] : [])];
  await build({ ...optionsOf(AGENT, tree, plugins), outfile });
}

export async function bundlePlant(outfile: string): Promise<void> {
  await build({ ...optionsOf(PLANT, ".", []), outfile });
}

/** Bundles this checkout again and again, each time with other breaks: what has not changed is parsed once. */
export async function openBundler() {
  let wanted: readonly Break[] = [];
  const plugins = [altered(resolve("."), BREAKS, (one) => wanted.includes(one)), compiledSchemas];
  const bundler = await context({ ...optionsOf(AGENT, ".", plugins), write: false });
  return {
    async bundle(outfile: string, breaks: readonly Break[]): Promise<void> {
      wanted = breaks;
      const { outputFiles } = await bundler.rebuild();
      writeFileSync(outfile, outputFiles[0]?.contents ?? "");
    },
    close: () => bundler.dispose(),
  };
}

function optionsOf(contents: string, tree: string, plugins: Plugin[]) {
  return {
    stdin: { contents, resolveDir: resolve(tree), loader: "ts" },
    bundle: true,
    platform: "node",
    target: "node20",
    format: "cjs",
    minifyWhitespace: true,
    external: ["better-sqlite3", "pg-native"],
    define: { __BUNDLED__: "false" },
    nodePaths: [resolve("node_modules")],
    plugins: [...plugins, quietDebug],
    logLevel: "error",
  } satisfies BuildOptions;
}

/** mqtt.js calls `debug` many times per packet; it would print nothing. */
const quietDebug: Plugin = {
  name: "debug without output",
  setup({ onResolve, onLoad }) {
    onResolve({ filter: /^debug$/ }, () => ({ path: "debug", namespace: "quiet" }));
    onLoad({ filter: /^debug$/, namespace: "quiet" }, () => ({
      contents: "const quiet = () => {}; module.exports = () => quiet;",
    }));
  },
};

function altered(
  tree: string,
  breaks: readonly Break[],
  isWanted: (one: Break) => boolean = () => true,
): Plugin {
  return {
    name: "altered sources",
    setup({ onLoad }) {
      for (const one of breaks) {
        const path = join(tree, one.file);
        onLoad({ filter: new RegExp(`^${path.replaceAll(".", "\\.")}$`) }, () =>
          isWanted(one)
            ? { contents: broken(readFileSync(path, "utf8"), one), loader: "ts" }
            : undefined,
        );
      }
    },
  };
}
