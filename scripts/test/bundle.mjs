/**
 * Compiles the tests once, before they run: loading TypeScript, and packages of a hundred files each, in each of 150 processes takes more time than
 * most of the tests. Code that several tests share becomes one file.
 */
import { existsSync, mkdirSync, mkdtempSync, readFileSync } from "node:fs";
import { dirname, join, relative } from "node:path";
import { pathToFileURL } from "node:url";
import { build } from "esbuild";
import { tsImport } from "tsx/esm/api";

/** A module sees its own path in the checkout, not that of the bundle it became part of. */
export const withOwnPlace = (path, source) =>
  source
    .replaceAll("import.meta.dirname", JSON.stringify(dirname(path)))
    .replaceAll("import.meta.filename", JSON.stringify(path))
    .replaceAll("import.meta.url", JSON.stringify(pathToFileURL(path).href));

const ownPlace = {
  name: "own-place",
  setup({ onLoad }) {
    onLoad({ filter: /\.ts$/ }, ({ path }) => {
      const source = readFileSync(path, "utf8");
      if (!source.includes("import.meta.")) return undefined;
      return { contents: withOwnPlace(path, source), loader: "ts" };
    });
  },
};

/** Files that the program loads by path are compiled too. */
const COLLECT = 'resolve("src", "collect", "main.ts")';
const compiledCollect = (root, directory) => ({
  name: "compiled-collect",
  setup({ onLoad }) {
    onLoad({ filter: /src\/cli\/collect-bundle\.ts$/ }, ({ path }) => {
      const source = readFileSync(path, "utf8");
      if (!source.includes(COLLECT)) throw new Error(`${path} no longer says ${COLLECT}`);
      const compiled = JSON.stringify(join(directory, "src/collect/main.js"));
      return { contents: source.replace(COLLECT, compiled), loader: "ts" };
    });
  },
});

/** Scripts that tests start as processes of their own (test/support/script-words.ts). */
const SCRIPTS = [
  "src/main.ts",
  "test/features/sparkplug/killed-node.ts",
  "test/pipeline/gateway/large-day-reader.ts",
  "test/pipeline/gateway/large-day-server.ts",
  "test/support/hold-child.ts",
  "test/support/slow-listener-child.ts",
  "test/support/store-child.ts",
  "test/support/store-faults-child.ts",
  "test/support/uplinks-child.ts",
];

/** Packages with native code, or that look for files of their own. */
const LEFT_OUT = [
  "axe-core",
  "better-sqlite3",
  "esbuild",
  "fast-check",
  "oxc-parser",
  "pg-native",
  "playwright-core",
  "tsx",
];
/** For packages that are CommonJS. */
const REQUIRE = `import { createRequire as requireOf } from "node:module"; const require = requireOf(import.meta.url);`;

/** As in the program: compiling schemas in each process, and for each file that a test checks, takes longer than most tests. */
const COMPILED_SCHEMAS = "scripts/compiled-schemas.ts";

/** Its place is that in the checkout: a test that bundles is itself bundled elsewhere. */
function seededProperties(root) {
  const seeded = join(root, "scripts/test/seeded-fast-check.mjs");
  return {
    name: "seeded-properties",
    setup({ onResolve }) {
      onResolve({ filter: /^fast-check$/ }, ({ importer }) =>
        importer === seeded ? null : { path: seeded },
      );
    },
  };
}

/** Returns the folder of the compiled files, the compiled file of each test, and what each file imports (of esbuild). */
export async function bundleTests(root, files, changes = []) {
  const cache = join(root, ".cache");
  mkdirSync(cache, { recursive: true });
  const schemas = join(root, COMPILED_SCHEMAS);
  const { compiledSchemas } = await tsImport(schemas, pathToFileURL(schemas).href);
  // Inside the checkout, where packages are found.
  const directory = mkdtempSync(join(cache, "tests-"));
  const { metafile } = await build({
    absWorkingDir: root,
    metafile: true,
    entryPoints: [
      ...files,
      join(root, "src/collect/main.ts"),
      // Where a feature has been taken off, its scripts are gone.
      ...SCRIPTS.map((path) => join(root, path)).filter((path) => existsSync(path)),
    ],
    outbase: root,
    outdir: directory,
    bundle: true,
    splitting: true,
    external: LEFT_OUT,
    banner: { js: REQUIRE },
    format: "esm",
    platform: "node",
    target: "node20",
    sourcemap: "inline",
    sourcesContent: false,
    logLevel: "warning",
    plugins: [
      ...changes,
      seededProperties(root),
      compiledSchemas,
      compiledCollect(root, directory),
      ownPlace,
    ],
  });
  const compiled = (file) => join(directory, relative(root, file).replace(/\.ts$/, ".js"));
  return { directory, compiled, imports: metafile.inputs };
}
