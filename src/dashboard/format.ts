/** Numbers, units and times for people. */

const UNIT_SIGNS: Readonly<Record<string, string>> = {
  um: "µm",
  degC: "°C",
  "mm/s2": "mm/s²",
  "m/s2": "m/s²",
  degF: "°F",
  "m3/h": "m³/h",
  m3: "m³",
  "1": "",
};
/** Non-breaking: a number and its unit stay on one line. */
const NBSP = "\u00a0";
export const DASH = "–";

export function unitSign(unit: string | null | undefined): string {
  return unit === null || unit === undefined ? "" : (UNIT_SIGNS[unit] ?? unit);
}

/** Three significant digits, fewer or more if the unit suggests so; whole numbers keep all of theirs. */
export function number(value: number, unit?: string | null): string {
  if (!Number.isFinite(value)) return DASH;
  return minus(value.toFixed(decimals(Math.abs(value), unit ?? "")));
}

/** Below this a number is none for people. */
const NOTHING = 1e-8;
/** What is smaller than half of the last fixed decimal shows digits of its own. */
const FIXED: Readonly<Record<string, number>> = { rpm: 0, V: 2, degC: 1, degF: 1, "%": 1 };

function decimals(size: number, unit: string): number {
  const fixed = FIXED[unit];
  if (fixed !== undefined && (unit === "rpm" || size < NOTHING || size >= 0.5 * 10 ** -fixed))
    return fixed;
  if (size < NOTHING) return fixed ?? 1;
  // As they are after rounding: 9.996 is 10.0.
  const most = fixed === undefined ? 2 : 0;
  return Math.max(0, Math.min(8, most - Math.floor(Math.log10(Number(size.toPrecision(3))))));
}

/** What rounds to zero has no sign. */
function minus(text: string): string {
  if (!text.startsWith("-")) return text;
  return /^-[0.]+$/.test(text) ? text.slice(1) : `\u2212${text.slice(1)}`;
}

/** A number with its unit. */
export function quantity(value: number, unit?: string | null): string {
  const sign = unitSign(unit);
  return sign === "" ? number(value, unit) : `${number(value, unit)}${NBSP}${sign}`;
}

export function bytes(count: number): string {
  const names = ["B", "kB", "MB", "GB", "TB"];
  let size = count;
  let step = 0;
  while (size >= 1000 && step < names.length - 1) {
    size /= 1024;
    step += 1;
  }
  const digits = step === 0 || size >= 9.95 ? 0 : 1;
  return `${size.toFixed(digits)}${NBSP}${names[step]}`;
}

export function count(value: number): string {
  return String(Math.round(value)).replace(/\B(?=(\d{3})+$)/g, "\u202f");
}

/** Age, coarse enough to be read at a glance. */
export function age(ms: number): string {
  const seconds = Math.max(0, Math.floor(ms / 1000));
  if (seconds < 60) return `${seconds}${NBSP}s`;
  const minutes = Math.floor(seconds / 60);
  if (minutes < 60) return `${minutes}${NBSP}min`;
  const hours = Math.floor(minutes / 60);
  if (hours < 48) return `${hours}${NBSP}h ${minutes % 60}${NBSP}min`;
  return `${Math.floor(hours / 24)}${NBSP}days`;
}

/** An interval, rounded: a sensor that sends every 595 s sends every 10 min. */
export function interval(seconds: number): string {
  if (seconds < 90) return `${Math.round(seconds)}${NBSP}s`;
  const minutes = Math.round(seconds / 60);
  if (minutes < 90) return `${minutes}${NBSP}min`;
  const tenths = Math.round(seconds / 360) / 10;
  return `${tenths}${NBSP}h`;
}

export function hours(value: number): string {
  if (value < 1) return `${Math.max(0, Math.floor(value * 60))}${NBSP}min`;
  if (value < 72) return `${Math.floor(value)}${NBSP}h`;
  const days = Math.floor(value / 24);
  return days < 400 ? `${days}${NBSP}days` : "over a year";
}

/** Events per minute or per second, whichever is easier to read. */
export function rate(perSecond: number): string {
  if (perSecond <= 0) return "0/min";
  if (perSecond >= 10) return `${count(perSecond)}/s`;
  const perMinute = perSecond * 60;
  return `${perMinute >= 10 ? Math.round(perMinute) : perMinute.toPrecision(2)}/min`;
}

/** Times in one zone. */
export class ZoneTimes {
  readonly zone: string;
  #time: Intl.DateTimeFormat | null = null;
  #day: Intl.DateTimeFormat | null = null;
  #offset: Intl.DateTimeFormat | null | undefined;

  /** The first format of a page costs it a tenth of a second: each is made when it is first needed. */
  constructor(zone: string) {
    this.zone = zone;
  }

  time(ms: number): string {
    const style = { timeZone: this.zone, hourCycle: "h23", timeStyle: "medium" } as const;
    this.#time ??= new Intl.DateTimeFormat("en-GB", style);
    return this.#time.format(ms);
  }
  day(ms: number): string {
    const style = { timeZone: this.zone, day: "numeric", month: "short", year: "numeric" } as const;
    this.#day ??= new Intl.DateTimeFormat("en-GB", style);
    return this.#day.format(ms);
  }
  /** The day is left out if it is today. */
  short(ms: number, nowMs: number): string {
    const day = this.day(ms);
    if (day === this.day(nowMs)) return this.time(ms);
    return `${day.replace(/ \d{4}$/, "")} ${this.time(ms).slice(0, 5)}`;
  }
  full(ms: number): string {
    return `${this.day(ms)} ${this.time(ms)}`;
  }
  /** For example `Europe/Berlin (UTC+01:00)`. */
  name(ms: number): string {
    if (this.zone === "UTC") return "UTC";
    if (this.#offset === undefined) this.#offset = offsetFormat(this.zone);
    const offset = this.#offset
      ?.formatToParts(ms)
      .find(({ type }) => type === "timeZoneName")
      ?.value.replace("GMT", "UTC");
    return offset === undefined ? this.zone : `${this.zone} (${offset})`;
  }
}

function offsetFormat(zone: string): Intl.DateTimeFormat | null {
  try {
    return new Intl.DateTimeFormat("en-GB", { timeZone: zone, timeZoneName: "longOffset" });
  } catch {
    return null; // An older browser: the zone's name must do.
  }
}

/** Text shown when hovering over a time. */
export function utc(ms: number): string {
  return `${new Date(ms).toISOString().slice(0, 19).replace("T", " ")} UTC`;
}

/** 1, 2 or 5 times a power of ten, at least `least`. */
export function niceStep(least: number): number {
  const power = 10 ** Math.floor(Math.log10(least));
  const part = least / power;
  return power * (part <= 1 ? 1 : part <= 2 ? 2 : part <= 5 ? 5 : 10);
}
