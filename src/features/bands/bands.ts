import { DAY_MS } from "../../core/time-units.ts";
import { DftPlans } from "../../pipeline/signal/fft.ts";
import type { Feature } from "../feature.ts";
import type { FeatureHost } from "../host.ts";
import type { Wait } from "../machines/api.ts";
import { BandMaker } from "./band-maker.ts";

export function createBands(host: FeatureHost, wait: Wait): Feature {
  const { settings, readings } = host;
  const maker = new BandMaker({
    ...host,
    wait,
    history: readings.history,
    log: readings.log,
    readWanted: readings.readWanted,
    onStored: readings.stored,
    samplesMs: settings.waveformDays * DAY_MS,
    zone: settings.gatewayTimezone,
    plans: new DftPlans(),
  });
  return {
    durable: (key, fromMs, toMs) => maker.stored(key, fromMs, toMs),
    readAgain: (days, sensor) => maker.readAgain(days, sensor),
    run: (signal) => maker.run(signal),
  };
}
