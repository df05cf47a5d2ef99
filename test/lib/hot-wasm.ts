import { setImmediate as immediate } from "node:timers/promises";
import { setFlagsFromString } from "node:v8";
import { runInThisContext } from "node:vm";
import { keepBaselineWasm } from "../../src/lib/engine.ts";

/** (module (func (export "f") (param i32) (loop (br_if 0 (local.tee 0 (i32.sub (local.get 0) (i32.const 1))))))) */
const HEAD = [0x00, 0x61, 0x73, 0x6d, 0x01, 0x00, 0x00, 0x00];
const TYPE = [0x01, 0x05, 0x01, 0x60, 0x01, 0x7f, 0x00];
const FUNCTION = [0x03, 0x02, 0x01, 0x00];
const EXPORT = [0x07, 0x05, 0x01, 0x01, 0x66, 0x00, 0x00];
// biome-ignore format: as it is laid out in memory
const CODE = [
  0x0a, 0x10, 0x01, 0x0e, 0x00, 0x03, 0x40, 0x20, 0x00, 0x41, 0x01, 0x6b, 0x22, 0x00, 0x0d, 0x00, 0x0b, 0x0b,
];

const TURNS = 10_000_000;

type Loop = (turns: number) => void;

/** Part of every Node; its types come with those of a browser. */
interface Wasm {
  readonly Module: new (bytes: Uint8Array) => object;
  readonly Instance: new (module: object) => { readonly exports: Record<string, Loop> };
}

/** A function that counts down. V8 keeps one module for equal bytes, so an empty section with this name distinguishes them. */
function loop(name: string): Loop {
  const section = [0x00, 0x02, 0x01, name.charCodeAt(0)];
  const bytes = Uint8Array.from([...HEAD, ...TYPE, ...FUNCTION, ...EXPORT, ...CODE, ...section]);
  const { Instance, Module } = Reflect.get(globalThis, "WebAssembly") as Wasm;
  return new Instance(new Module(bytes)).exports["f"] as Loop;
}

/** Prints which of two hot functions V8 has optimised: compiled before and after it was set to keep its baseline code. */
async function main(): Promise<void> {
  setFlagsFromString("--allow-natives-syntax");
  const isOptimised = runInThisContext("(f) => %IsTurboFanFunction(f)") as (f: Loop) => boolean;
  const before = loop("a");
  keepBaselineWasm();
  const after = loop("b");
  while (!isOptimised(before)) {
    after(TURNS);
    before(TURNS);
    await immediate();
  }
  console.log(JSON.stringify({ before: isOptimised(before), after: isOptimised(after) }));
}

void main();
