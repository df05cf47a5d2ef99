/**
 * Healthy machines of the kinds that rules were not made with, and their records. Elements that pass under load move the shaft
 * smoothly at a bearing's frequencies and their sums with the shaft's (varying compliance: Sunnersjö 1978), and what sounds is
 * modulated by them by a few per cent; gearboxes answer to their load with every order; screws and rotary blowers have strong
 * orders at multiples of their lobes; drives change the speed and pass resonances; a heavy rotor has harmonics by its clearances.
 */
import { BEARINGS, DAY_MS, LIMITS, SHAPES, SPEEDS, velocityOf } from "./exam-engine.ts";
import { addOrder, G_MM_S2, type Line } from "./plant-lines.ts";
import { DIRECTIONS, RANGE_G } from "./plant-physics.ts";
import { gaussOf, type Random } from "./random-numbers.ts";

export const KINDS = ["compliant", "gearbox", "lobes", "drive", "clearances"] as const;
export type Kind = (typeof KINDS)[number];

type Directions = readonly [number, number, number];

export interface HealthyPlant {
  readonly kind: Kind;
  readonly speedRpm: number;
  /** Share by which a drive lowers the speed from one reading to the next. */
  readonly swing: number;
  readonly sampleRateHz: number;
  readonly samples: number;
  readonly bearing: {
    readonly name: string;
    readonly balls: number;
    readonly ballMm: number;
    readonly pitchMm: number;
    readonly angleDeg: number;
  };
  /** Orders of the shaft, and what each has at full load: mm/s RMS by direction. */
  readonly orders: readonly Line[];
  /** The same of the passing elements, at multiples that slip. */
  readonly passing: readonly Line[];
  /** Share by which what sounds is modulated at the passing of the elements, and at other frequencies of the bearing. */
  readonly depth: number;
  readonly resonances: readonly {
    readonly hz: number;
    readonly damping: number;
    readonly gains: Directions;
  }[];
  readonly noiseG: number;
  /** What is left of the orders without load. */
  readonly idle: number;
  /** Load, 0 to 1, at a time. */
  readonly loadAt: (timeMs: number, random: Random) => number;
  readonly plan: string;
}

const scaled = (lines: readonly Line[], by: number): Line[] =>
  lines.map(([order, [h, v, a], phase]) => [order, [h * by, v * by, a * by], phase]);

/** How its load goes: on a machine at one load, by the hour, by day and night, and from one week to the next. */
const PLANS: readonly (readonly [string, HealthyPlant["loadAt"]])[] = [
  ["steady", () => 1],
  ["by the hour", (_timeMs, random) => 0.2 + 0.8 * random()],
  ["light at first", (timeMs, random) => (timeMs < 12 * DAY_MS ? 0.25 : 0.2 + 0.8 * random())],
  ["by day", (timeMs, random) => (random() < 0.4 + 0.2 * Math.sin(timeMs / DAY_MS) ? 0.3 : 0.9)],
];

export function healthyPlant(kind: Kind, random: Random): HealthyPlant {
  const pick = <T>(of: readonly T[]): T => of[Math.floor(random() * of.length)] as T;
  const [name, balls, ballMm, pitchMm, angleDeg] = pick(BEARINGS);
  const [sampleRateHz, samples] = pick(SHAPES.filter(([rate]) => rate >= 3200));
  const speedRpm = pick(SPEEDS.filter((rpm) => rpm >= 700)) * (1 + 0.01 * (random() - 0.5));
  const q = (ballMm / pitchMm) * Math.cos((angleDeg * Math.PI) / 180);
  const [outer, inner, cage] = [(balls / 2) * (1 - q), (balls / 2) * (1 + q), (1 - q) / 2];
  const slip = 0.012 * (2 * random() - 1);
  const any = (mmS: number): Directions => {
    const of = () => mmS * (0.2 + 0.8 * random());
    return [of(), of(), 0.6 * of()];
  };
  const line = (order: number, mmS: number): Line => [
    order,
    any(mmS),
    [random(), random(), random()],
  ];
  const first = 0.3 + 1.2 * random();
  const orders = [line(1, first), line(2, 0.4 * first * random())];
  for (let n = 3; n <= 10; n++) orders.push(line(n, (0.3 * first * random()) / Math.sqrt(n)));
  if (kind === "lobes") {
    const lobes = pick([3, 4, 5, 6]);
    for (const n of [1, 2, 3]) orders.push(line(n * lobes, (1.5 + random()) / n));
  }
  if (kind === "gearbox") {
    const teeth = 17 + Math.floor(50 * random());
    for (const n of [1, 2])
      orders.push(
        line(n * teeth, 0.5 / n),
        line(n * teeth + 1, 0.15 / n),
        line(n * teeth - 1, 0.15 / n),
      );
  }
  if (kind === "clearances")
    for (let n = 2; n <= 10; n++)
      orders.push(line(n, (0.5 * first) / n), line(n - 0.5, (0.1 * first) / n));
  // The first of the passing is the strongest; it meets the turning load, and the inner race's has its own.
  const most = kind === "compliant" ? 0.6 + 2 * random() : 0.3 * random();
  const passing: Line[] = [];
  const outerAt = outer * (1 + slip);
  for (const [m, share] of [
    [1, 1],
    [2, 0.35],
  ] as const)
    for (const k of [-2, -1, 0, 1, 2])
      passing.push(line(m * outerAt + k, (most * share) / (1 + 1.2 * Math.abs(k))));
  passing.push(
    line(inner - outer * slip, 0.3 * most * random()),
    line(cage * (1 + slip), 0.1 * most * random()),
  );
  const resonances = Array.from({ length: 5 }, (_, i) => ({
    hz: 600 * 1.9 ** i * (0.7 + 0.6 * random()),
    damping: 0.015 + 0.04 * random(),
    gains: any(1),
  }));
  const [plan, loadAt] = pick(PLANS);
  const isDriven = kind === "drive" || random() < 0.2;
  const plant: HealthyPlant = {
    kind,
    speedRpm,
    swing: isDriven ? 0.4 : 0.005,
    sampleRateHz,
    samples,
    bearing: { name, balls, ballMm, pitchMm, angleDeg },
    orders,
    passing,
    depth: 0.014 + 0.085 * random(),
    resonances,
    noiseG: 0.003 * 12 ** random(),
    idle: 0.25 + 0.5 * random(),
    loadAt,
    plan,
  };
  const { channels } = healthyRecord(plant, 1, 1, random);
  const worst = Math.max(...channels.map((counts) => velocityOf(counts, sampleRateHz)));
  // Accepted in zone A or B, at full load.
  const by = Math.min(1, (LIMITS[0] + (0.2 + 0.6 * random()) * (LIMITS[1] - LIMITS[0])) / worst);
  return { ...plant, orders: scaled(orders, by), passing: scaled(passing, by) };
}

/** @param load 0 to 1 @param speedShare of its full speed */
export function healthyRecord(
  plant: HealthyPlant,
  load: number,
  speedShare: number,
  random: Random,
) {
  const { samples, sampleRateHz: rate, bearing, depth, resonances, noiseG, idle } = plant;
  const gauss = gaussOf(random);
  const speedHz = (plant.speedRpm / 60) * speedShare;
  const turns = new Float64Array(samples);
  let angle = random();
  let drift = 0;
  for (let n = 0; n < samples; n++) {
    turns[n] = angle;
    drift = 0.9995 * drift + 0.0316 * gauss() * 0.0003;
    angle += (speedHz * (1 + drift)) / rate;
  }
  const out = DIRECTIONS.map(() => new Float64Array(samples));
  const byLoad = (idle + (1 - idle) * load) * speedShare * speedShare;
  const sway = () => 1 + 0.1 * (random() - 0.5);
  for (const line of scaled(plant.orders, byLoad))
    addOrder(out, turns, rate, speedHz, scaled([line], sway())[0] ?? line);
  for (const line of scaled(plant.passing, 0.3 + 0.7 * load))
    addOrder(out, turns, rate, speedHz, scaled([line], sway())[0] ?? line);
  const q = (bearing.ballMm / bearing.pitchMm) * Math.cos((bearing.angleDeg * Math.PI) / 180);
  const outer = plant.passing[2]?.[0] ?? (bearing.balls / 2) * (1 - q);
  // What sounds is friction: a little louder as each element passes, as the load turns, and as the cage does.
  const sounding = new Float64Array(samples);
  const at = [random(), random(), random()] as const;
  for (let n = 0; n < samples; n++) {
    const turn = turns[n] ?? 0;
    const wave = (order: number, i: 0 | 1 | 2) => Math.cos(2 * Math.PI * (order * turn + at[i]));
    const by = 1 + depth * (wave(outer, 0) + 0.5 * wave(1, 1) + 0.4 * wave((1 - q) / 2, 2));
    sounding[n] = noiseG * (0.5 + 0.5 * load) * by * gauss();
  }
  for (const { hz, damping, gains } of resonances) {
    if (hz > rate / 2.56) continue;
    const w = (2 * Math.PI * hz) / rate;
    const r = Math.exp(-damping * w);
    const [a1, a2] = [2 * r * Math.cos(w), r * r];
    let [one, two] = [0, 0];
    for (let n = 0; n < samples; n++) {
      const now = a1 * one - a2 * two + (1 - r) * 4 * (sounding[n] ?? 0);
      two = one;
      one = now;
      for (const [d, gain] of gains.entries()) {
        const signal = out[d];
        if (signal !== undefined) signal[n] = (signal[n] ?? 0) + gain * now;
      }
    }
  }
  // Flow: velocity noise that falls with the frequency.
  const keep = Math.exp((-2 * Math.PI * 60) / rate);
  const flow = 0.25 * Math.sqrt(1 - keep * keep);
  const counts = 32_768 / RANGE_G;
  const channels = out.map((signal) => {
    let low = 0;
    return Int16Array.from(signal, (value) => {
      const before = low;
      low = keep * low + flow * gauss();
      const all = value + ((low - before) * rate) / G_MM_S2 + 0.2 * noiseG * gauss();
      return Math.max(-32_768, Math.min(32_767, Math.round(all * counts)));
    });
  });
  return { speedRpm: 60 * speedHz, channels };
}
