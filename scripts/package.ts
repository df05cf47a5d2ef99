/**
 * Makes the Debian packages: own Node runtime, bundle, stripped native modules; nothing is compiled or downloaded on the box.
 * The same sources give the same bytes: times come from SOURCE_DATE_EPOCH, lists are sorted, owners are root.
 *   node --import tsx scripts/package.ts [amd64] [arm64] [--maintainer TEXT] [--out DIR] [--natives DIR] [--plain]   → dist/packages/*.deb, SHA256SUMS
 * Compiled modules are kept in .cache/package; a different --natives compiles them again. --plain leaves out the compression, which takes
 * as long as the compiler. Both exist to prove that a second build gives the same result (scripts/check-packages.sh).
 */
import { execFileSync } from "node:child_process";
import { createHash } from "node:crypto";
import {
  chmodSync,
  existsSync,
  lstatSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { dirname, join, relative, resolve } from "node:path";
import { parseArgs } from "node:util";
import { gzipSync } from "node:zlib";
import { PACKAGED_LINKS, packagedDocuments } from "./package-documents.ts";
import {
  type Arch,
  missingTools,
  NODE_PARTS,
  NODE_VERSION,
  NODES,
  nativeModules,
  nodeOf,
  run,
  say,
} from "./package-parts.ts";
import { nodeComponent, type Sbom, sbomOf } from "./sbom.ts";

const root = resolve(process.argv[1] ?? ".", "../..");
const USAGE = `Usage: npm run package -- [amd64] [arm64] [--maintainer TEXT] [--out DIR] [--natives DIR] [--plain]

Makes the Debian packages of both architectures, or of those named, and their SHA256SUMS. One whose compiler is not installed is left
out, with a line that says what to install; if it was named, the exit code is 1.

  --maintainer "NAME <ADDRESS>"   whom a user of the packages writes to, also about vulnerabilities (default: an address that reaches nobody)
  --out DIR      where they go (default dist/packages)
  --natives DIR  where compiled modules are kept (default .cache/package); an empty one compiles them again
  --plain        without compression
  --help         this text
`;
const { options, archs } = commandLine();
const cache = join(root, ".cache", "package");
const places = { root, cache, natives: resolve(options.natives ?? cache) };
const out = resolve(options.out ?? join(root, "dist", "packages"));
const manifest = JSON.parse(readFileSync(join(root, "package.json"), "utf8")) as {
  version: string;
  description: string;
};
const epoch =
  process.env["SOURCE_DATE_EPOCH"] ??
  execFileSync("git", ["log", "-1", "--format=%ct"], { cwd: root, encoding: "utf8" }).trim();

/** Ends the process on --help and on an invalid command line. */
function commandLine() {
  try {
    const { values, positionals } = parseArgs({
      allowPositionals: true,
      options: {
        maintainer: {
          type: "string",
          default: "Gateside maintainers <maintainers@gateside.invalid>",
        },
        out: { type: "string" },
        natives: { type: "string" },
        plain: { type: "boolean", default: false },
        help: { type: "boolean", short: "h", default: false },
      },
    });
    if (values.help) {
      process.stdout.write(USAGE);
      process.exit(0);
    }
    if (!/^[^<>\n]+ <[^<>@\s]+@[^<>@\s]+>$/.test(values.maintainer))
      throw new Error(`--maintainer ${JSON.stringify(values.maintainer)} is not NAME <ADDRESS>`);
    const known = Object.keys(NODES) as Arch[];
    const stranger = positionals.find((word) => !known.some((arch) => arch === word));
    if (stranger !== undefined)
      throw new Error(
        `${JSON.stringify(stranger)} is not an architecture; use ${known.join(" or ")}`,
      );
    const wanted = known.filter((arch) => positionals.includes(arch));
    return { options: values, archs: wanted.length > 0 ? wanted : known };
  } catch (error) {
    process.stderr.write(
      `error: ${error instanceof Error ? error.message : String(error)} (npm run package -- --help)\n`,
    );
    process.exit(2);
  }
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
async function packageFor(arch: Arch): Promise<string> {
  const { prefix } = NODES[arch];
  const node = await nodeOf(arch, places);
  const { sqlite, sdnotify } = await nativeModules(arch, node, places);
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
  await run(`${prefix}strip`, [join(stage, "usr/lib/gateside/node")]);
  copy(join(root, "dist/gateside.js"), "usr/lib/gateside/gateside.js");
  copy(join(root, "dist/launch.js"), "usr/lib/gateside/launch.js");
  copy(join(root, "dist/collect.js"), "usr/lib/gateside/collect.js");
  copy(join(root, "dist/copy-log.js"), "usr/lib/gateside/copy-log.js");
  copy(join(root, "dist/package.json"), "usr/lib/gateside/package.json");
  copyTree(join(root, "dist/dashboard"), "usr/lib/gateside/dashboard");
  copy(sqlite, "usr/lib/gateside/better_sqlite3.node");
  copy(sdnotify, "usr/lib/gateside/sdnotify.node");
  copy(join(root, "packaging/gateside.sh"), "usr/bin/gateside", 0o755);
  mkdirSync(join(stage, "etc/gateside"), { recursive: true });
  // Not a conffile: the live one is created from it once (packaging/postinst).
  copy(join(root, "packaging/gateside.env"), "usr/share/gateside/gateside.env");
  for (const unit of ["gateside.service", "gateside@.service"]) {
    copy(join(root, "systemd", unit), join("usr/lib/systemd/system", unit));
  }
  const documents = "usr/share/doc/gateside";
  for (const { from, to, isExecutable } of packagedDocuments(root))
    copy(join(root, from), to, isExecutable ? 0o755 : 0o644);
  for (const { at, target } of PACKAGED_LINKS) symlinkSync(target, join(stage, at));
  const zipped = (content: string | Buffer) => gzipSync(content, { level: 9 });
  put(`${documents}/copyright`, COPYRIGHT);
  const libraries = readFileSync(join(root, "dist/THIRD-PARTY-LICENCES.txt"));
  put(`${documents}/THIRD-PARTY-LICENCES.gz`, zipped(libraries));
  put(`${documents}/NODE-LICENCE.gz`, zipped(readFileSync(join(node, "LICENSE"))));
  put(`${documents}/sbom.cdx.json`, billOfMaterials(arch, node));
  put(`${documents}/changelog.gz`, zipped(readFileSync(join(root, "CHANGELOG.md"))));
  put(`${documents}/changelog.Debian.gz`, zipped(debianChangelog()));
  copy(join(root, "packaging/lintian-overrides"), "usr/share/lintian/overrides/gateside");

  const files = filesBelow(stage).filter((file) => !lstatSync(file).isSymbolicLink());
  const installedKb = Math.ceil(files.reduce((sum, file) => sum + statSync(file).size, 0) / 1024);
  const sums = files
    .map((file) => {
      const md5 = createHash("md5").update(readFileSync(file)).digest("hex");
      return `${md5}  ${relative(stage, file)}\n`;
    })
    .join("");
  put("DEBIAN/md5sums", sums);
  put("DEBIAN/control", control(arch, installedKb));
  for (const script of ["postinst", "prerm", "postrm"]) {
    copy(join(root, "packaging", script), join("DEBIAN", script), 0o755);
  }
  await run("chmod", ["-R", "u=rwX,go=rX", stage]);
  await run("find", [stage, "-exec", "touch", "-h", "-d", `@${epoch}`, "{}", "+"]);

  mkdirSync(out, { recursive: true });
  const deb = join(out, `gateside_${manifest.version}-1_${arch}.deb`);
  const packing = options.plain ? ["-Znone"] : ["-Zxz", "-z6"];
  await run("dpkg-deb", ["--root-owner-group", ...packing, "-b", stage, deb], {
    env: { SOURCE_DATE_EPOCH: epoch },
  });
  rmSync(stage, { recursive: true, force: true });
  say(`${arch}: ${relative(root, deb)} ${(statSync(deb).size / 1e6).toFixed(1)} MB`);
  return deb;
}

function billOfMaterials(arch: Arch, node: string): string {
  const { npmName, integrity } = NODES[arch];
  const { version } = manifest;
  const purl = `pkg:deb/gateside/gateside@${version}-1?arch=${arch}`;
  const bundled = JSON.parse(
    readFileSync(join(root, "dist/bundled-components.json"), "utf8"),
  ) as Pick<Sbom, "components" | "dependencies">;
  const runtime = nodeComponent(node, NODE_VERSION, npmName, integrity, NODE_PARTS);
  const sbom = sbomOf({ version, epochS: Number(epoch), purl }, bundled, [runtime]);
  return `${JSON.stringify(sbom, null, 1)}\n`;
}

function control(arch: Arch, installedKb: number): string {
  return [
    "Package: gateside",
    `Version: ${manifest.version}-1`,
    `Architecture: ${arch}`,
    `Maintainer: ${options.maintainer}`,
    `Installed-Size: ${installedKb}`,
    "Depends: libc6 (>= 2.34), libstdc++6 (>= 11), adduser",
    "Recommends: ca-certificates, tzdata",
    "Section: net",
    "Priority: optional",
    "Description: store-and-forward agent for wireless-sensor gateways",
    " Polls a sensor gateway, converts raw counts into engineering units, buffers",
    " readings in SQLite and publishes them to MQTT and Sparkplug B. Includes its own",
    " Node.js runtime; nothing is compiled or downloaded on the box.",
    "",
  ].join("\n");
}

function debianChangelog(): string {
  const date = new Date(Number(epoch) * 1000).toUTCString().replace("GMT", "+0000");
  return `gateside (${manifest.version}-1) unstable; urgency=medium\n\n  * See CHANGELOG.md.\n\n -- ${options.maintainer}  ${date}\n`;
}

const COPYRIGHT = `Copyright 2026 the Gateside maintainers. Gateside is licensed under the Apache License 2.0; see /usr/share/common-licenses/Apache-2.0.

The package also holds the libraries that are bundled with it and the Node.js runtime, each under its own licence:
/usr/share/doc/gateside/THIRD-PARTY-LICENCES.gz and /usr/share/doc/gateside/NODE-LICENCE.gz (read them with zless).
`;

async function main(): Promise<void> {
  rmSync(join(out, "SHA256SUMS"), { force: true });
  const buildable = archs.filter((arch) => {
    const lacking = missingTools(arch);
    if (lacking === null) return true;
    process.stderr.write(`${arch}: not built, ${lacking}\n`);
    if (archs.length < Object.keys(NODES).length) process.exitCode = 1;
    return false;
  });
  if (buildable.length === 0) {
    process.exitCode = 1;
    return;
  }
  await run("npm", ["run", "--silent", "build"], { cwd: root });
  // In parallel: compiler and compression each keep one core busy.
  const results = await Promise.allSettled(buildable.map(packageFor));
  for (const [i, result] of results.entries()) {
    if (result.status === "fulfilled") continue;
    const { reason } = result;
    process.stderr.write(
      `${buildable[i]}: failed: ${reason instanceof Error ? reason.message : String(reason)}\n`,
    );
    process.exitCode = 1;
  }
  const debs = results.flatMap((result) => (result.status === "fulfilled" ? [result.value] : []));
  if (debs.length === 0) return;
  const sums = debs
    .map((deb) => {
      const sha256 = createHash("sha256").update(readFileSync(deb)).digest("hex");
      return `${sha256}  ${relative(out, deb)}\n`;
    })
    .join("");
  writeFileSync(join(out, "SHA256SUMS"), sums);
  say(sums.trim());
}

void main().catch((error: unknown) => {
  process.stderr.write(`error: ${error instanceof Error ? error.message : String(error)}\n`);
  process.exitCode = 1;
});
