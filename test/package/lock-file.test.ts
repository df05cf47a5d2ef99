import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";

interface Entry {
  readonly integrity?: string;
  readonly resolved?: string;
  readonly optional?: boolean;
  readonly dev?: boolean;
  readonly os?: readonly string[];
}

const { packages } = JSON.parse(readFileSync("package-lock.json", "utf8")) as {
  packages: Record<string, Entry>;
};
const entries = Object.entries(packages).filter(([folder]) => folder !== "");

/**
 * Builds of the formatter, the linter and the finder of unused exports for other systems, which the package registry does not have in these versions (E404): nobody
 * could tell their digests. They are for development alone, nothing of them is shipped, and npm takes none of them on Linux with glibc
 * on amd64 and arm64. With versions that the registry has for every system this list gets shorter.
 */
const WITHOUT_DIGEST: Readonly<Record<string, string>> = {
  "@biomejs/cli-":
    "android-arm64 android-x64 darwin-arm64 darwin-x64 linux-arm64-musl linux-x64-musl win32-arm64 win32-x64",
  "@oxc-parser/binding-":
    "android-arm-eabi android-arm64 darwin-arm64 darwin-x64 freebsd-x64 linux-arm-gnueabihf linux-arm-musleabihf linux-ppc64-gnu linux-riscv64-gnu linux-riscv64-musl linux-s390x-gnu openharmony-arm64 win32-arm64-msvc win32-ia32-msvc win32-x64-msvc",
  "@oxlint-tsgolint/": "darwin-arm64 darwin-x64 win32-arm64 win32-x64",
  "@oxlint/binding-":
    "android-arm-eabi android-arm64 darwin-arm64 darwin-x64 freebsd-x64 linux-arm-gnueabihf linux-arm-musleabihf linux-arm64-musl linux-ppc64-gnu linux-riscv64-gnu linux-riscv64-musl linux-s390x-gnu linux-x64-musl openharmony-arm64 win32-arm64-msvc win32-ia32-msvc win32-x64-msvc",
};

test("lock file – every package has the digest of its archive, except those not in the registry", () => {
  const known = Object.entries(WITHOUT_DIGEST).flatMap(([start, systems]) =>
    systems.split(" ").map((system) => `node_modules/${start}${system}`),
  );
  const without = entries
    .filter(([, { integrity }]) => !/^sha512-[A-Za-z0-9+/]{86}==$/.test(integrity ?? ""))
    .map(([folder]) => folder);
  assert.deepEqual(without.sort(), known.sort());
});

test("lock file – a package without a digest is optional, for development only and for one system", () => {
  for (const [folder, { integrity, optional, dev, os }] of entries) {
    if (integrity !== undefined) continue;
    assert.deepEqual(
      { folder, optional, dev, systems: os?.length },
      { folder, optional: true, dev: true, systems: 1 },
    );
  }
});

test("lock file – no entry names the host that it came from", () => {
  assert.deepEqual(
    entries.filter(([, { resolved }]) => resolved !== undefined),
    [],
  );
});
