import type { Finding } from "../../cli/finding.ts";
import { SPEED_MIN_RPM } from "../../core/bands/definition.ts";
import { measureBands } from "../../core/bands/measure.ts";
import type { Reading } from "../../core/reading.ts";
import { type Kind, normalCode, sameCode } from "../../core/sensor.ts";
import { type Site } from "../../core/site.ts";
import { numberOf } from "../../core/value-number.ts";
import { MachineSignals } from "../machines/api.ts";

const SECONDS_PER_MINUTE = 60;

type BandReading = Pick<Reading, "sensor" | "kind" | "values" | "waveform">;

/** Which bands the newest record of each sensor cannot show: they raise no alarm of bad quality. */
export function bandsShown(site: Site, newest: readonly BandReading[]): readonly Finding[] {
  const findings: Finding[] = [];
  const signals = new MachineSignals(site);
  const newestOf = (code: string, kind: Kind) =>
    newest.find((one) => one.kind === kind && sameCode(one.sensor, code));
  for (const { bands: own, code, fullScaleCounts } of site.sensors) {
    const waveform = newestOf(code, "accel")?.waveform ?? null;
    if (own === undefined || waveform === null) continue;
    const what = `${code} bands`;
    const speed = signals.ofSensor(normalCode(code))?.speed ?? null;
    const measured = speed && numberOf(newestOf(speed.sensor, "rpm")?.values[speed.value]);
    const rpm = measured === null ? null : measured * (own.shaft?.speedRatio ?? 1);
    if (own.hasSpeed && (rpm === null || rpm < SPEED_MIN_RPM)) {
      const why = rpm === null ? "the speed of its machine is unknown" : "its machine stands";
      findings.push({ what, state: "skipped", detail: `not checked: ${why}` });
      continue;
    }
    const { sampleRateHz, calibration, channels } = waveform;
    const shaftHz = rpm === null ? null : rpm / SECONDS_PER_MINUTE;
    const options = { sampleRateHz, calibration, fullScaleCounts, shaftHz, isSteady: true };
    const missing = channels.flatMap(({ channel, samples }) =>
      [...measureBands(samples, own.bands, options)].flatMap(([name, { value, doubt }]) =>
        value === null ? [`channel${channel}_${name} ${doubt?.reason ?? "missing"}`] : [],
      ),
    );
    const at = rpm === null ? "" : ` at ${Math.round(rpm)} rpm`;
    findings.push(
      missing.length === 0
        ? { what, state: "ok", detail: `the newest record shows all of them${at}` }
        : {
            what,
            state: "warning",
            detail: `the newest record cannot show${at}: ${missing.join(", ")}`,
          },
    );
  }
  return findings;
}
