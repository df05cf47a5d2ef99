import assert from "node:assert/strict";
import { createKeeper } from "../../../src/features/kept/keeper.ts";
import { Pins } from "../../../src/features/kept/pins.ts";
import type { CreateKeeping, MeasuredMachines } from "../../../src/pipeline/store/keeping.ts";
import type { Store } from "../../../src/pipeline/store/store.ts";

/** For a store whose measurements are those of such machines; null: of none that is known. */
export const keepBy =
  (machines: MeasuredMachines | null): CreateKeeping =>
  (...of) =>
    Object.assign(createKeeper(...of), { machines });

/** @param isOn false with WAVEFORM_DAYS=0 */
export function pinsOf({ keeping, measurements, tables }: Store, isOn = true): Pins {
  assert.ok(keeping);
  return new Pins({ tables, measurements, keeping, isOn });
}
