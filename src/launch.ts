/**
 * Entry point of the package: starts the program next to it, with the code cache that root created at installation.
 *   node launch.js COMMAND …        as gateside.js COMMAND …
 *   node launch.js --write-cache    creates the cache from a training run (packaging/postinst)
 */
import { join } from "node:path";
import { runAndCache, runWithCache } from "./lib/code-cache.ts";

// As in cli/hold-hang-up.ts: before the program is read and compiled.
process.on("SIGHUP", () => {});

const program = join(__dirname, "gateside.js");
const cacheFile = join(__dirname, "gateside.cache");
const isTraining = process.argv[2] === "--write-cache";

process.argv.splice(1, isTraining ? 2 : 1, program, ...(isTraining ? ["train"] : []));
if (isTraining) runAndCache(program, cacheFile);
else runWithCache(program, cacheFile);
