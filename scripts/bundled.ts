/** Which packages of node_modules ended up in esbuild's output. */
import type { Metafile } from "esbuild";

/** Not seen by the bundler: copied next to the program. */
const NATIVE = "node_modules/better-sqlite3";

/** Folders (`node_modules/a/node_modules/b`) of all packages that contributed at least one byte to the bundles, and of the native module; sorted. */
export function bundledFolders(metafiles: readonly Metafile[]): string[] {
  const folders = new Set([NATIVE]);
  for (const { outputs } of metafiles) {
    for (const { inputs } of Object.values(outputs)) {
      for (const [path, { bytesInOutput }] of Object.entries(inputs)) {
        const folder = bytesInOutput > 0 ? folderOf(path) : undefined;
        if (folder !== undefined) folders.add(folder);
      }
    }
  }
  return [...folders].sort();
}

/** Of the innermost package that a file belongs to. */
function folderOf(path: string): string | undefined {
  // Files loaded by a plugin have its namespace before the path.
  return /(?:^|:)(node_modules\/.*?)$/
    .exec(path)?.[1]
    ?.match(/^.*node_modules\/(?:@[^/]+\/)?[^/]+/)?.[0];
}
