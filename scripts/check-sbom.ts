/**
 * Checks a package's bill of materials against the lock file and against itself: `check-sbom.ts FILE`. Prints what is in it; exits with 1
 * on a dangling reference, a package without a digest, or one that differs from the lock file.
 */
import { readFileSync } from "node:fs";
import type { Component, LockPackages, Sbom } from "./sbom.ts";

/** Problems found; empty if there are none. */
export function sbomFaults(sbom: Sbom, lock: LockPackages): string[] {
  const faults: string[] = [];
  if (sbom.bomFormat !== "CycloneDX" || sbom.specVersion !== "1.6") faults.push("no CycloneDX 1.6");
  const all = [sbom.metadata.component, ...sbom.components.flatMap(withParts)];
  const refs = new Set<string>();
  for (const component of all) {
    const ref = component["bom-ref"];
    if (refs.has(ref)) faults.push(`${ref}: twice`);
    refs.add(ref);
    if (component.version === "" || component.licenses === undefined)
      faults.push(`${ref}: no version or no licence`);
  }
  for (const { ref, dependsOn } of sbom.dependencies) {
    for (const one of [ref, ...dependsOn]) if (!refs.has(one)) faults.push(`${one}: not described`);
  }
  const locked = new Map(
    Object.entries(lock).map(([folder, { version, integrity }]) => [
      `pkg:npm/${folder.slice(folder.lastIndexOf("node_modules/") + 13).replace("@", "%40")}@${version}`,
      integrity,
    ]),
  );
  for (const { type, purl, hashes } of sbom.components) {
    const digest = hashes?.[0]?.content;
    if (digest === undefined) faults.push(`${purl}: no digest`);
    // The runtime is pinned in scripts/package-parts.ts and is not a dependency.
    else if (
      type === "library" &&
      locked.get(purl) !== `sha512-${Buffer.from(digest, "hex").toString("base64")}`
    )
      faults.push(`${purl}: not as the lock file has it`);
  }
  return faults;
}

const withParts = (component: Component): Component[] => [
  component,
  ...(component.components ?? []),
];

function main(path: string): void {
  const sbom = JSON.parse(readFileSync(path, "utf8")) as Sbom;
  const lock = JSON.parse(readFileSync("package-lock.json", "utf8")) as { packages: LockPackages };
  const faults = sbomFaults(sbom, lock.packages);
  for (const fault of faults) process.stderr.write(`${fault}\n`);
  if (faults.length > 0) process.exitCode = 1;
  const node = sbom.components.find(({ name }) => name === "node");
  process.stdout.write(
    `bill of materials: ${sbom.components.length - 1} packages as locked, Node ${node?.version}\n`,
  );
}

if (process.argv[2] !== undefined && import.meta.filename === process.argv[1])
  main(process.argv[2]);
