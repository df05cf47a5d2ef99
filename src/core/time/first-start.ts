/** What a first start reads and sends, shown in advance: thousands of messages per sensor. */
import { isRead, type PolledKind } from "../sensor.ts";
import { type Site } from "../site.ts";
import { createSelector, type Uplink } from "../uplink.ts";

const DAY_S = 86_400;

/**
 * Records a day and bytes of a JSON message with its topic, as in the simulator's plant: the rates of real sensors
 * are unknown.
 */
const USUAL: Readonly<Record<PolledKind, { readonly perDay: number; readonly bytes: number }>> = {
  accel: { perDay: DAY_S / 600, bytes: 2_040 },
  current: { perDay: DAY_S / 60, bytes: 680 },
  currentV2: { perDay: DAY_S / 60, bytes: 1_070 },
  accCurrent: { perDay: DAY_S / 900, bytes: 750 },
  loop: { perDay: DAY_S / 30, bytes: 790 },
  dryContact: { perDay: DAY_S / 60, bytes: 650 },
  rpm: { perDay: DAY_S / 60, bytes: 590 },
};

export interface FirstStart {
  readonly uplink: string;
  readonly messages: number;
  /** Without waveforms. Sparkplug payloads are counted as JSON, which is larger. */
  readonly bytes: number;
  /** How long that takes at least, s; null if the uplink has no backlogRate. */
  readonly seconds: number | null;
}

/**
 * For each uplink that receives history, the maximum for the days before today and the current one. `days` as
 * BACKFILL_DAYS.
 */
export function firstStartOf(
  site: Site,
  uplinks: readonly Pick<
    Uplink,
    "name" | "formats" | "history" | "select" | "sparkplug" | "backlogRatePerS"
  >[],
  days: number,
): FirstStart[] {
  return uplinks
    .filter(({ history, formats }) => history && formats.some((format) => format !== "plain"))
    .map(({ name, formats, select, sparkplug, backlogRatePerS }) => {
      const selector = createSelector(select, site.sensors);
      let records = 0;
      let recordBytes = 0;
      for (const sensor of site.sensors.filter(isRead)) {
        for (const kind of sensor.kinds) {
          if (!selector.includes(sensor.code, kind)) continue;
          const { perDay, bytes } = USUAL[kind];
          records += perDay * (days + 1);
          recordBytes += perDay * (days + 1) * bytes;
        }
      }
      const ofJson = formats.includes("json") ? records : 0;
      const ofSparkplug = sparkplug === null ? 0 : Math.ceil(records / sparkplug.historyBatch);
      const messages = Math.round(ofJson + ofSparkplug);
      const copies = (formats.includes("json") ? 1 : 0) + (sparkplug === null ? 0 : 1);
      return {
        uplink: name,
        messages,
        bytes: Math.round(recordBytes * copies),
        seconds: backlogRatePerS > 0 ? Math.round(messages / backlogRatePerS) : null,
      };
    });
}
