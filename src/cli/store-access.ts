import { lanesOf } from "../agent/agent.ts";
import type { Settings } from "../config/settings.ts";
import { systemClock } from "../lib/clock.ts";
import { silentLogger } from "../lib/logger.ts";
import { nativeBinding } from "../lib/paths.ts";
import { isWanted } from "../publish/waveform.ts";
import { openStore, type Store } from "../store/store.ts";

/** The store as the agent opens it, for a command that works while no agent runs. Throws StoreFailure `in_use`. */
export function openAgentStore(settings: Settings): Store {
  return openStore({
    dataDir: settings.dataDir,
    nativeBinding: nativeBinding(),
    historyDays: settings.historyDays,
    waveformDays: settings.waveformDays,
    bufferMaxMb: settings.bufferMaxMb,
    diskFreeMinMb: settings.diskFreeMinMb,
    lanes: lanesOf(settings),
    waveformPolicy: ({ waveform }) =>
      settings.publishWaveforms !== "never" &&
      isWanted(settings.publishWaveforms, waveform?.recordingReason ?? null),
    clock: systemClock,
    logger: silentLogger,
  });
}
