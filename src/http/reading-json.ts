import { parsedObject } from "../core/parsed-json.ts";
import type { StoredReading } from "../core/stored-reading.ts";

/** A damaged text must not make the whole response one that is no JSON. */
const intact = (text: string) => (parsedObject(text) === null ? "{}" : text);

/** A stored reading in the API: the members of contract section 6, joined from the store's own JSON texts. */
export function readingJson(reading: StoredReading): string {
  const { seq, id, sensor, kind, timeMs, waveforms } = reading;
  return (
    `{"seq":${seq},"id":${JSON.stringify(id)},"sensor":${JSON.stringify(sensor)},"kind":"${kind}",` +
    `"time":"${new Date(timeMs).toISOString()}","timeMs":${timeMs},"storedAtMs":${reading.storedAtMs},` +
    `"values":${intact(reading.values)},"units":${reading.units},"quality":${intact(reading.quality)},` +
    `"attributes":${intact(reading.attributes)},"waveforms":${JSON.stringify(waveforms)}}`
  );
}
