import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";

setFlagsFromString("--expose-gc");
const collect = runInNewContext("gc") as () => void;

/** Heap in use after a full collection, bytes. */
export function heapInUse(): number {
  collect();
  return process.memoryUsage().heapUsed;
}
