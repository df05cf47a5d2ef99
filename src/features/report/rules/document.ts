/** The report on a machine (plant section 20): one HTML document, without script, that loads nothing. */
import { escapeText as esc } from "../../../core/drawing/figure-axes.ts";
import { digits, shownUnit } from "../../../core/drawing/units.ts";
import { alarmTextAsRead, frequencyScale, textAsRead } from "../../../core/read-units.ts";
import { withTimes } from "../../../core/text/times-in-text.ts";
import type { Report, ReportFinding, ReportInput, ReportTrend } from "./input.ts";
import { spectrumFigure, trendFigure } from "./measured-figures.ts";
import { SHEET_STYLE } from "./sheet-style.ts";

/** What stands before the appendix: at most three sheets of a machine with six sensors. */
const FINDINGS_MAX = 3;
const OUTLOOKS_MAX = 3;
const ALARMS_MAX = 10;

/** A report has 5 MB at most; what is no figure takes far less than the rest. */
const FIGURES_LENGTH_MAX = 3_500_000;

/** @returns the title, and the whole document */
export function reportDocument(given: ReportInput): Report {
  const input = { ...given, findings: worstFirst(given.findings, given.reason) };
  const title = `${input.machine} – report`;
  const html = `<!doctype html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width"><title>${esc(title)}</title><style>${SHEET_STYLE}</style></head>
<body><article class="report">${bodyOf(input)}</article></body></html>
`;
  return { title, html };
}

function bodyOf(input: ReportInput): string {
  const at = timesOf(input.zone);
  const wanted = input.units;
  const said = (text: string) => esc(textAsRead(text, wanted));
  const first = input.trends.find(({ isWorst }) => isWorst) ?? input.trends[0];
  const shown = input.trends.filter((trend) => trend.isMain && trend !== first);
  const area = input.area === null ? "" : `, ${input.area}`;
  return [
    `<h1>${esc(input.machine)}</h1>`,
    facts([
      ["Site", `${input.site}${area}`],
      ["Period", `${at(input.fromMs)} to ${at(input.toMs)}`],
      ["Times", input.zone],
      ["Made", `${at(input.madeMs)} by Gateside ${input.version}`],
    ]),
    `<h2>${input.isOver ? `State on ${at(input.toMs)}` : "State"}</h2>`,
    `<p><span class="state">${esc(input.condition)}</span> ${esc(alarmTextAsRead(input.reason, input.worst, wanted))}${sinceWords(input, at)}</p>`,
    input.speedRpm === null ? "" : `<p>Speed now ${digits(input.speedRpm)} rpm.</p>`,
    recommendationOf(input),
    ...(first === undefined ? [] : [trendOf(first, input)]),
    // Zones and last readings are those of today, as is the outlook.
    input.isOver
      ? ""
      : table(
          ["Sensor", "Zone", "Last reading"],
          input.sensors.map(({ name, zone, lastMs, isLive }) => [
            esc(name),
            zone === null ? "–" : `<span class="zone">${esc(zone)}</span>`,
            lastMs === null ? "none" : `${isLive ? "" : "not live since "}${at(lastMs)}`,
          ]),
        ),
    "<h2>Findings</h2>",
    input.findings.length === 0
      ? "<p>No findings stand.</p>"
      : input.findings
          .slice(0, FINDINGS_MAX)
          .map((finding, rank) => findingOf(finding, input, at, rank === 0))
          .join("\n"),
    "<h2>Trends</h2>",
    input.trends.length === 0
      ? "<p>No readings of this period are stored.</p>"
      : `<div class="trends">${asManyAsFit(shown, (trend) => trendOf(trend, input), "trends")}</div>`,
    input.isOver ? "" : "<h2>When limits will be reached</h2>",
    input.isOver
      ? ""
      : input.outlook.length === 0
        ? "<p>None: no velocity or band has been followed for long enough.</p>"
        : table(
            ["Sensor", "Value", "Expected"],
            input.outlook
              .slice(0, OUTLOOKS_MAX)
              .map(({ sensor, value, text }) => [esc(sensor), esc(value), said(text)]),
          ),
    "<h2>Alarms of the period</h2>",
    alarmsOf(input.alarms.slice(0, ALARMS_MAX), input, at),
    appendixOf(input, at),
  ].join("\n");
}

/** Since when the state holds, and since when nothing of the machine is live. */
function sinceWords(
  { sensors, sinceMs, isSinceAtLeast, isOver }: ReportInput,
  at: (ms: number) => string,
): string {
  const times = sensors.flatMap(({ lastMs }) => lastMs ?? []);
  const isSilent = !isOver && times.length > 0 && !sensors.some(({ isLive }) => isLive);
  const notLiveMs = isSilent ? Math.max(...times) : null;
  const since = isSinceAtLeast ? "At least since" : "Since";
  return [
    sinceMs === null || sinceMs === notLiveMs ? "" : ` ${since} ${at(sinceMs)}.`,
    notLiveMs === null ? "" : ` Not live since ${at(notLiveMs)}.`,
  ].join("");
}

/** First the finding of which the state speaks, then by stage: state, recommendation, trend and evidence are of one. */
export function worstFirst<T extends Pick<ReportFinding, "stage" | "text">>(
  findings: readonly T[],
  reason: string,
): readonly T[] {
  const rank = ({ stage, text }: T) => (reason.startsWith(text) ? 4 : stage);
  return findings.toSorted((a, b) => rank(b) - rank(a));
}

/** The worst finding, or zone, and what to do about it. */
function recommendationOf({ findings, action }: ReportInput): string {
  const [worst] = findings;
  if (worst !== undefined)
    return `<p><strong>${esc(worst.title)}.</strong> ${esc(worst.action)}</p>`;
  return action === "" ? "" : `<p><strong>${esc(action)}</strong></p>`;
}

function alarmsOf(
  alarms: ReportInput["alarms"],
  { units }: ReportInput,
  at: (ms: number) => string,
): string {
  if (alarms.length === 0) return "<p>None.</p>";
  // The sentence names sensor and value.
  const rows = table(
    ["Time", "State", "What", "Acknowledged by"],
    alarms.map((alarm) => [
      at(alarm.timeMs),
      `${esc(alarm.state === "active" ? alarm.severity : alarm.state)}<br>${esc(alarm.alarm.replaceAll("_", " "))}`,
      esc(withTimes(alarmTextAsRead(alarm.text, alarm, units), at)),
      esc(alarm.by ?? ""),
    ]),
  );
  return `<div class="alarms">${rows}</div>`;
}

/** All that is beyond the first pages. */
function appendixOf(input: ReportInput, at: (ms: number) => string): string {
  const { findings, trends, alarms, notes, outlook } = input;
  const more = findings.slice(1);
  const rest = trends.filter(({ isMain }) => !isMain);
  const older = alarms.slice(ALARMS_MAX);
  const outlooks = outlook.slice(OUTLOOKS_MAX);
  return [
    '<h2 class="appendix">Appendix</h2>',
    more.length === 0
      ? ""
      : `<h3>Evidence of further findings</h3>${asManyAsFit(more, (finding) => findingOf(finding, input, at, true), "findings")}`,
    rest.length === 0
      ? ""
      : `<h3>Further trends</h3>${asManyAsFit(rest, (trend) => trendOf(trend, input), "trends")}`,
    outlooks.length === 0 || input.isOver
      ? ""
      : table(
          ["Sensor", "Value", "Expected"],
          outlooks.map(({ sensor, value, text }) => [
            esc(sensor),
            esc(value),
            esc(textAsRead(text, input.units)),
          ]),
        ),
    older.length === 0 ? "" : `<h3>Older alarms of the period</h3>${alarmsOf(older, input, at)}`,
    input.alarmsCut ? "<p>Older ones of the period are left out.</p>" : "",
    "<h3>Open notes</h3>",
    notes.length === 0
      ? "<p>None.</p>"
      : `<ul>${notes
          .map(
            ({ subject, by, timeMs, note }) =>
              `<li>${esc(subject)}: “${esc(note)}” (${esc(by)}${timeMs === null ? "" : `, ${at(timeMs)}`})</li>`,
          )
          .join("")}</ul>`,
  ].join("\n");
}

function asManyAsFit<T>(all: readonly T[], htmlOf: (one: T) => string, what: string): string {
  const parts: string[] = [];
  let length = 0;
  for (const [at, one] of all.entries()) {
    const part = htmlOf(one);
    length += part.length;
    if (length > FIGURES_LENGTH_MAX / 3) {
      parts.push(
        `<p>${all.length - at} more ${what} are left out: the report would be too large.</p>`,
      );
      break;
    }
    parts.push(part);
  }
  return parts.join("\n");
}

const SPECTRUM = { kind: "accel", value: "" };

function findingOf(
  finding: ReportFinding,
  { units, isOver, toMs }: ReportInput,
  at: (ms: number) => string,
  hasEvidence: boolean,
): string {
  const { evidence, spectrum } = finding;
  const shown = spectrum === null ? null : shownUnit(SPECTRUM, spectrum.unit, units);
  const frequency = frequencyScale(units.frequency, finding.speedRpm / 60);
  // The next column has the orders.
  const { words } = frequency.unit === "orders" ? frequencyScale("Hz", null) : frequency;
  const figure =
    spectrum === null || shown === null
      ? "<p>The measurement is not stored any more: no spectrum.</p>"
      : spectrumFigure({
          title: `Spectrum of ${at(spectrum.timeMs)}, ${digits(finding.speedRpm)} rpm`,
          yLabel: `${shown.label} peak`,
          xLabel: frequency.unit,
          step: spectrum.stepHz * frequency.perHz,
          values: Array.from(spectrum.values, shown.of),
          marks: evidence.map(({ hz, name }) => ({ x: hz * frequency.perHz, label: name })),
        });
  return [
    `<h3>${esc(finding.title)} of 3</h3>`,
    // It ends with what to do.
    `<p>${esc(textAsRead(finding.text, units))}</p>`,
    isOver && finding.lastSeenMs >= toMs
      ? "<p>It stood then; its figures are those of its newest reading, after the period.</p>"
      : "",
    `<p>Since ${at(finding.sinceMs)}, last seen ${at(finding.lastSeenMs)}, at ${digits(finding.speedRpm)} rpm.</p>`,
    ...(!hasEvidence
      ? []
      : [
          table(
            ["Line", "Spectrum", "Frequency", "Multiple of speed", "Amplitude"],
            evidence.map((line) => {
              const unit = shownUnit(SPECTRUM, line.unit, units);
              return [
                esc(line.name),
                esc(`${line.spectrum}, axis ${line.axis}`),
                words(line.hz),
                `${line.order.toFixed(2)}x`,
                `${digits(unit.of(line.amplitude))} ${esc(unit.label)} peak`,
              ];
            }),
          ),
          figure,
        ]),
  ].join("\n");
}

function trendOf(trend: ReportTrend, { fromMs, toMs, zone, units }: ReportInput): string {
  const unit = shownUnit(trend, trend.unit, units);
  return trendFigure({
    title: trend.title,
    unit: trend.isRms ? `${unit.label} RMS` : unit.label,
    fromMs,
    toMs,
    zone,
    lines: trend.lines.map(({ label, points }) => ({
      label,
      points: points.map(({ x, y, low, high }) => ({
        x,
        y: unit.of(y),
        ...(low !== undefined && high !== undefined && { low: unit.of(low), high: unit.of(high) }),
      })),
    })),
    levels: trend.levels.map(({ label, y }) => ({ label, y: unit.of(y) })),
    ...(trend.lanes !== undefined && { lanes: trend.lanes }),
  });
}

function facts(rows: readonly (readonly [string, string])[]): string {
  return `<dl>${rows.map(([name, value]) => `<dt>${name}</dt><dd>${esc(value)}</dd>`).join("")}</dl>`;
}

/** Cells are HTML. */
function table(heads: readonly string[], rows: readonly (readonly string[])[]): string {
  const head = heads.map((text) => `<th scope="col">${text}</th>`).join("");
  const body = rows.map((cells) => `<tr>${cells.map((cell) => `<td>${cell}</td>`).join("")}</tr>`);
  const label = esc(heads.filter((text) => text !== "").join(", "));
  return `<div class="scroll" tabindex="0" role="group" aria-label="Table: ${label}"><table><thead><tr>${head}</tr></thead><tbody>${body.join("")}</tbody></table></div>`;
}

function timesOf(zone: string): (ms: number) => string {
  const format = new Intl.DateTimeFormat("en-GB", {
    timeZone: zone,
    dateStyle: "medium",
    timeStyle: "short",
  });
  return (ms) => format.format(ms);
}
