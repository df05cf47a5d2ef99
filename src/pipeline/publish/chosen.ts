/** The site and its readings as selected by one uplink. */

import { readingKinds } from "../../core/sensor.ts";
import { fromSite, type SiteSource } from "../../core/site-source.ts";
import { type StoredReading, withValues } from "../../core/stored-reading.ts";
import { createSelector, type Uplink } from "../../core/uplink.ts";

/** Whether any reading of a sensor is selected. Removed sensors are matched only by their code. */
export function chosenSensors(uplink: Uplink, site: SiteSource): (code: string) => boolean {
  const codes = fromSite(site, ({ sensors }) => {
    const { includes } = createSelector(uplink.select, sensors);
    const isChosen = sensors.map((sensor): [string, boolean] => [
      sensor.code,
      readingKinds(sensor).some((kind) => includes(sensor.code, kind)),
    ]);
    return { known: new Map(isChosen), includes };
  });
  return (code) => {
    const { known, includes } = codes();
    // Events have no kind to match.
    return known.get(code) ?? includes(code, "event");
  };
}

/** The site file without the sensors and kinds that the uplink does not select. */
export function chosenSite(uplink: Uplink, site: SiteSource): SiteSource {
  const { kinds, sensors: codes, areas, machines } = uplink.select;
  if (kinds.length + codes.length + areas.length + machines.length === 0) return site;
  const chosen = fromSite(site, (current) => {
    const { includes } = createSelector(uplink.select, current.sensors);
    const sensors = current.sensors
      .map((sensor) => ({
        ...sensor,
        kinds: sensor.kinds.filter((kind) => includes(sensor.code, kind)),
        stateReads: includes(sensor.code, "node") ? (sensor.stateReads ?? []) : [],
      }))
      .filter((sensor) => readingKinds(sensor).length > 0);
    return { ...current, sensors };
  });
  return {
    get current() {
      return chosen();
    },
    onChange: (listener) => site.onChange((_, before) => listener(chosen(), before)),
  };
}

/** A stored reading with only the selected values; null if none is selected. */
export function chosenValues(
  { select }: Pick<Uplink, "select">,
  reading: StoredReading | null,
): StoredReading | null {
  const { value } = createSelector(select, []);
  if (value === null || reading === null) return reading;
  try {
    const chosen = withValues(reading, value);
    return chosen.values === "{}" ? null : chosen;
  } catch {
    // Damaged: whoever sends it reports it.
    return reading;
  }
}
