import type { StoredReading } from "../core/stored-reading.ts";

/** A stored reading in the API: the members of contract section 6, joined from the store's own JSON texts. */
export function readingJson(reading: StoredReading): string {
  const { seq, id, sensor, kind, timeMs, waveforms } = reading;
  return (
    `{"seq":${seq},"id":${JSON.stringify(id)},"sensor":${JSON.stringify(sensor)},"kind":"${kind}",` +
    `"time":"${new Date(timeMs).toISOString()}","timeMs":${timeMs},"storedAtMs":${reading.storedAtMs},` +
    `"values":${reading.values},"units":${reading.units},"quality":${reading.quality},` +
    `"attributes":${reading.attributes},"waveforms":${JSON.stringify(waveforms)}}`
  );
}
