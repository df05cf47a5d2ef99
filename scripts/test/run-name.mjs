/** Names of the files that the runner runs: in its order, and with the test in them. */
import { relative } from "node:path";

/** `name`: of a test, relative to test/ and without its ending, or of a room. */
export const runName = (at, name) =>
  `${String(at).padStart(4, "0")}~${name.replaceAll(/[/\\]/g, "~")}.test.mjs`;

/** Where a test was written, relative to the checkout; also of a file that was compiled or that `runName` named. */
export const sourceOf = (file) =>
  relative("", file)
    .replace(/^\.cache\/tests-[^/]+\/(test\/.*)\.js$/, "$1.ts")
    .replace(
      /^\.cache\/tests-[^/]+\/\d+~(.*)\.test\.mjs$/,
      (_, name) => `test/${name.replaceAll("~", "/")}.test.ts`,
    );
