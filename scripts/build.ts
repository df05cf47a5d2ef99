/**
 * Makes dist/: one CommonJS bundle, the native module beside it, the dashboard's files with compressed twins, and the
 * licence texts of everything bundled. The result needs nothing but Node.
 */
import {
  copyFileSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  writeFileSync,
} from "node:fs";
import { basename, extname, join, resolve } from "node:path";
import { brotliCompressSync, constants, gzipSync } from "node:zlib";
import { build, type Metafile, type Plugin } from "esbuild";
import { bundledFolders } from "./bundled.ts";
import { compiledSchemas } from "./compiled-schemas.ts";
import { writeManual } from "./manual.ts";
import { bundledComponents, type LockPackages } from "./sbom.ts";

const DIST = "dist";
const DASHBOARD_SOURCE = join("src", "dashboard");
const DASHBOARD = join(DIST, "dashboard");
const MANUAL = join(DASHBOARD, "manual");

/** Small files gain nothing from compression. */
const COMPRESS_BYTES_MIN = 512;

async function main(): Promise<void> {
  // Existing files are replaced one by one: a program that runs from here, and packages made earlier, stay intact.
  mkdirSync(DIST, { recursive: true });
  const bundled = await bundleProgram("main.ts", "gateside.js");
  const launching = await bundleProgram("launch.ts", "launch.js");
  const collecting = await bundleProgram(join("collect", "main.ts"), "collect.js");
  const copying = await bundleProgram("copy-log.ts", "copy-log.js");
  copyNativeModule();
  const shown = await bundleDashboard();
  const folders = bundledFolders([bundled, launching, collecting, copying, ...shown]);
  writeLicences(folders);
  writeBundledComponents(folders);
}

/** `collect.js` holds what only the receiving end needs; `gateside collect` loads it, the agent never does. */
async function bundleProgram(source: string, name: string): Promise<Metafile> {
  // CommonJS, because a package that uses `require` at run time must find it. Names are not minified, for error messages:
  // `keepNames` names every inner function anew each time it is made, a quarter of the CPU of a first start.
  const { metafile } = await build({
    entryPoints: [join("src", source)],
    outfile: join(DIST, name),
    bundle: true,
    platform: "node",
    target: "node20",
    format: "cjs",
    minifySyntax: true,
    minifyWhitespace: true,
    legalComments: "none",
    banner: { js: "#!/usr/bin/env node" },
    define: { __BUNDLED__: "true" },
    metafile: true,
    plugins: [onlyTheClient, quietDebug, compiledSchemas],
    // pg loads its native client only if it is selected.
    external: ["pg-native"],
    logLevel: "warning",
  });
  // One character outside ASCII would make V8 store the whole text with two bytes per character, which wastes 2 MB.
  const foreign = /.{0,40}[^\0-\x7f].{0,20}/.exec(readFileSync(join(DIST, name), "utf8"));
  if (foreign) throw new Error(`${name} is not pure ASCII; write it with \\u: ${foreign[0]}`);
  writeFileSync(join(DIST, "package.json"), `${JSON.stringify({ type: "commonjs" })}\n`);
  return metafile;
}

/**
 * The agent needs only undici's client: fetch, caches, web sockets and the rest would be loaded with it and take 5 MB of memory. What only some
 * configurations need (a proxy, fetch for `discover`, requests of web-hook and heartbeat) is loaded on first use.
 */
const onlyTheClient: Plugin = {
  name: "only the client of undici",
  setup(build) {
    build.onResolve({ filter: /^undici$/ }, () => ({ path: "undici", namespace: "client" }));
    build.onLoad({ filter: /^undici$/, namespace: "client" }, () => ({
      contents: `module.exports = {
        Client: require("undici/lib/dispatcher/client.js"),
        buildConnector: require("undici/lib/core/connect.js"),
        get ProxyAgent() {
          return require("undici/lib/dispatcher/proxy-agent.js");
        },
        get fetch() {
          return require("undici/lib/web/fetch/index.js").fetch;
        },
        get Agent() {
          return require("undici/lib/dispatcher/agent.js");
        },
        get request() {
          const { getGlobalDispatcher } = require("undici/lib/global.js");
          const request = require("undici/lib/api/api-request.js");
          return (address, { dispatcher = getGlobalDispatcher(), ...options }) => {
            const { origin, pathname, search } = new URL(address);
            return request.call(dispatcher, { method: "GET", ...options, origin, path: pathname + search });
          };
        },
      };`,
      resolveDir: process.cwd(),
    }));
  },
};

/**
 * mqtt.js calls the package `debug` about twenty times per acknowledgement, and each call collects its arguments in an array: 7 % of
 * what a first day allocates. Nothing documented prints any of it.
 */
const quietDebug: Plugin = {
  name: "debug without output",
  setup(build) {
    build.onResolve({ filter: /^debug$/ }, () => ({ path: "debug", namespace: "quiet" }));
    build.onLoad({ filter: /^debug$/, namespace: "quiet" }, () => ({
      contents: "const quiet = () => {}; module.exports = () => quiet;",
    }));
  },
};

/**
 * What the first page needs comes in one file: esbuild makes a file for each set of pages that share code, 17 for the first page.
 * Once every other page imports the first, as it may since it is loaded by then, all have that code in common.
 */
const firstPageInOne: Plugin = {
  name: "the first page in one file",
  setup(build) {
    const main = resolve(DASHBOARD_SOURCE, "main.ts");
    const later = new Set<string>();
    build.onResolve({ filter: /^\./ }, ({ kind, path, resolveDir }) => {
      if (kind === "dynamic-import") later.add(resolve(resolveDir, path));
      return null;
    });
    build.onLoad({ filter: /\.ts$/ }, ({ path }) =>
      later.has(path)
        ? { contents: `import ${JSON.stringify(main)};${readFileSync(path, "utf8")}`, loader: "ts" }
        : null,
    );
  },
};

function copyNativeModule(): void {
  const name = "better_sqlite3.node";
  // Renamed into place, because a running agent may have the old one mapped.
  copyFileSync(
    join("node_modules", "better-sqlite3", "build", "Release", name),
    join(DIST, `${name}.new`),
  );
  renameSync(join(DIST, `${name}.new`), join(DIST, name));
}

/** Scripts and styles are bundled; pages and pictures are copied. Without an index page there is no dashboard. */
async function bundleDashboard(): Promise<Metafile[]> {
  if (!existsSync(join(DASHBOARD_SOURCE, "index.html"))) return [];
  rmSync(DASHBOARD, { recursive: true, force: true });
  mkdirSync(DASHBOARD, { recursive: true });
  const files = readdirSync(DASHBOARD_SOURCE, { withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => entry.name);
  const entries = files.filter((name) => /^(start|main)\.ts$|\.css$/.test(name));
  const results: Metafile[] = [];
  for (const path of [...entries.map((name) => join(DASHBOARD_SOURCE, name)), ...featureStyles()]) {
    const name = basename(path);
    const { metafile } = await build({
      entryPoints: [path],
      outdir: DASHBOARD,
      bundle: true,
      platform: "browser",
      target: "es2022",
      // The start is no module: it runs at once, and whether or not the modules arrive.
      format: name === "start.ts" ? "iife" : "esm",
      // What the first page does not need (the plots) becomes a separate file, named after its content.
      splitting: name === "main.ts",
      plugins: [firstPageInOne],
      chunkNames: "[name]-[hash]",
      minify: true,
      legalComments: "none",
      metafile: true,
      logLevel: "warning",
    });
    results.push(metafile);
  }
  for (const name of files) {
    if (/\.(html|svg|png|ico|woff2|webmanifest|txt)$/.test(name))
      copyFileSync(join(DASHBOARD_SOURCE, name), join(DASHBOARD, name));
  }
  nameFirstPage();
  compress(DASHBOARD);
  results.push(await buildManual());
  return results;
}

/** Each is loaded by its own pages. */
function featureStyles(): string[] {
  const features = join("src", "features");
  return readdirSync(features, { recursive: true, encoding: "utf8" })
    .filter((path) => path.endsWith(".css"))
    .map((path) => join(features, path));
}

/** `main.js` only imports the file that other pages share, too: the page names that one itself, which saves a request before it. */
function nameFirstPage(): void {
  const main = join(DASHBOARD, "main.js");
  const [, name] = /^import"\.\/([^"]+)";\s*$/.exec(readFileSync(main, "utf8")) ?? [];
  if (name === undefined) throw new Error("main.js is not only an import of the first page's code");
  const index = join(DASHBOARD, "index.html");
  writeFileSync(index, readFileSync(index, "utf8").replace("main.js", name));
  rmSync(main);
}

/** Beside the dashboard's files, so that it is installed with them. */
async function buildManual(): Promise<Metafile> {
  const { version } = JSON.parse(readFileSync("package.json", "utf8")) as { version: string };
  writeManual(MANUAL, version);
  const source = join(DASHBOARD_SOURCE, "manual");
  const { metafile } = await build({
    entryPoints: [join(source, "search.ts"), join(source, "manual.css")],
    outdir: MANUAL,
    bundle: true,
    platform: "browser",
    target: "es2022",
    format: "esm",
    minify: true,
    legalComments: "none",
    metafile: true,
    logLevel: "warning",
  });
  compress(MANUAL);
  compress(join(MANUAL, "images"));
  return metafile;
}

function compress(directory: string): void {
  const files = readdirSync(directory, { withFileTypes: true }).filter((entry) => entry.isFile());
  for (const { name } of files) {
    const path = join(directory, name);
    const content = readFileSync(path);
    const isText = [".html", ".js", ".css", ".svg", ".txt", ".json"].includes(extname(name));
    if (!isText || content.length < COMPRESS_BYTES_MIN) continue;
    writeFileSync(`${path}.gz`, gzipSync(content, { level: 9 }));
    const params = { [constants.BROTLI_PARAM_QUALITY]: constants.BROTLI_MAX_QUALITY };
    writeFileSync(`${path}.br`, brotliCompressSync(content, { params }));
  }
}

/** Licence text of every package that ended up in a bundle, sorted by name, so that the file is the same on every build. */
function writeLicences(packages: readonly string[]): void {
  const texts = new Map<string, string>();
  for (const directory of packages) {
    const about = JSON.parse(readFileSync(join(directory, "package.json"), "utf8")) as {
      name: string;
      version: string;
      license?: string;
    };
    const title = `${about.name} ${about.version} (${about.license ?? "see below"})`;
    const names = readdirSync(directory).filter((name) =>
      /^(licen[cs]e|copying|notice)/i.test(name),
    );
    const parts = names
      .sort()
      .map((name) => join(directory, name))
      .map((path) => readFileSync(path, "utf8").trim());
    texts.set(title, parts.join("\n\n") || `Licence: ${about.license ?? "not stated"}`);
  }
  const line = "=".repeat(80);
  const body = [...texts]
    .sort(([a], [b]) => (a < b ? -1 : 1))
    .map(([title, text]) => `${line}\n${title}\n${line}\n\n${text}\n`)
    .join("\n");
  writeFileSync(
    join(DIST, "THIRD-PARTY-LICENCES.txt"),
    `Gateside contains the packages below, each under its own licence.\n\n${body}`,
  );
}

/** The bundled part of the bill of materials; a package adds its runtime (scripts/package.ts). */
function writeBundledComponents(folders: readonly string[]): void {
  const lock = JSON.parse(readFileSync("package-lock.json", "utf8")) as { packages: LockPackages };
  const bundled = bundledComponents(folders, lock.packages);
  writeFileSync(join(DIST, "bundled-components.json"), `${JSON.stringify(bundled, null, 1)}\n`);
}

void main();
