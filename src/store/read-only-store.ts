import type { WaveformReader } from "../core/ports.ts";
import { Database } from "./database.ts";
import { History } from "./history.ts";
import { Streams } from "./streams.ts";
import { Waveforms } from "./waveforms.ts";

/** What a second process may see of a store: nothing it can change. */
export interface ReadOnlyStore {
  readonly history: History;
  readonly waveforms: WaveformReader;
  close(): void;
}

/** For `export`, also while the agent runs. Throws StoreFailure. */
export function openReadOnly(dataDir: string, nativeBinding?: string): ReadOnlyStore {
  const db = new Database({ dataDir, nativeBinding, checkpointPages: 0 });
  db.openReadOnly();
  const streams = new Streams(db);
  streams.load();
  return {
    history: new History(db, streams),
    waveforms: new Waveforms(db, streams, { read: (_what, read) => read() }),
    close: () => db.close(),
  };
}
