/**
 * A second simulator of machines with faults, harder than the rules are: made from the literature, not from the rules, and sharing
 * no code with the agent's own. Forces act in the angle of the shaft, whose speed wanders within a record, on a structure
 * whose modes differ by direction, so that what a direction shows changes with the speed. Blows of a bearing come with slip
 * of their own each (McFadden & Smith 1984; Antoni & Randall 2003: random steps that add up), weighted by the load zone.
 */
import { addOrder, addTone, G_MM_S2, type Line, loadZone, SENSOR_FILTER } from "./plant-lines.ts";
import { gaussOf, type Random } from "./random-numbers.ts";

export const DIRECTIONS = ["H", "V", "A"] as const;
const LOWEST_SOUND_HZ = 500;
export const RANGE_G = 16;

export type Trouble =
  | "unbalance"
  | "misalignment"
  | "bent shaft"
  | "looseness"
  | "loose base"
  | "outer race"
  | "inner race"
  | "rolling element"
  | "cage"
  | "blade pass"
  | "gear mesh"
  | "electrical";

interface Mode {
  readonly hz: number;
  readonly damping: number;
  readonly gains: readonly [number, number, number];
}

export interface Plant {
  readonly speedRpm: number;
  /** Share by which a drive lowers the speed from one reading to the next. */
  readonly swing: number;
  /** Relative wander of the speed within a record. */
  readonly wander: number;
  /** Error of the measured speed, share. */
  readonly speedError: number;
  readonly sampleRateHz: number;
  readonly samples: number;
  readonly lineHz: number;
  readonly blades: number;
  readonly teeth: number;
  readonly bearing: { balls: number; ballMm: number; pitchMm: number; angleDeg: number };
  /** Mean slip of the cage, and random slip of each blow, shares. */
  readonly slip: number;
  readonly jitter: number;
  readonly modes: readonly Mode[];
  /** Velocity of what is usual, mm/s RMS: 1x to 4x, flow noise, mains, blades, mesh. */
  readonly usual: readonly number[];
  readonly flow: number;
  readonly hum: number;
  readonly wake: number;
  readonly mesh: number;
  /** Neighbours: frequency in Hz and velocity in mm/s. */
  readonly neighbours: readonly { readonly hz: number; readonly mmS: number }[];
  /** Noise of the acceleration, G RMS. */
  readonly noiseG: number;
  /** Share of the axial in the radial force of a misalignment, 2x over 1x, shares of looseness by order. */
  readonly character: readonly number[];
}

export interface Moment {
  readonly troubles: readonly { readonly kind: Trouble; readonly size: number }[];
  /** 0 to 1. */
  readonly load: number;
  readonly speedShare: number;
  /** A neighbour may stand. */
  readonly neighbourRuns: boolean;
  /** Process upset: flow noise times this. */
  readonly upset: number;
}

export interface PlantRecord {
  readonly speedRpm: number;
  readonly channels: readonly Int16Array[];
}

/** Amplification of a force at a frequency in one direction; far below all modes it is 1. */
function gainAt(modes: readonly Mode[], direction: number, hz: number): number {
  let re = 1;
  let im = 0;
  for (const { hz: at, damping, gains } of modes) {
    const r = hz / at;
    const a = 1 - r * r;
    const b = 2 * damping * r;
    const g = (gains[direction] ?? 0) / (a * a + b * b);
    re += g * r * r * a;
    im -= g * r * r * b;
  }
  return Math.min(6, Math.hypot(re, im));
}

export class PlantSignal {
  readonly #plant: Plant;
  readonly #random: Random;

  get sampleRateHz(): number {
    return this.#plant.sampleRateHz;
  }

  constructor(plant: Plant, random: Random) {
    this.#plant = plant;
    this.#random = random;
  }

  record(moment: Moment): PlantRecord {
    const plant = this.#plant;
    const random = this.#random;
    const gauss = gaussOf(random);
    const { samples, sampleRateHz: rate } = plant;
    const speedHz = (plant.speedRpm / 60) * moment.speedShare;
    const force = (moment.speedShare * moment.speedShare) as number;
    const turns = new Float64Array(samples);
    let angle = random();
    let drift = 0;
    for (let n = 0; n < samples; n++) {
      turns[n] = angle;
      drift = 0.9995 * drift + 0.0316 * gauss() * plant.wander;
      angle += (speedHz * (1 + drift)) / rate;
    }
    const out = DIRECTIONS.map(() => new Float64Array(samples));
    for (const line of this.#orders(moment, speedHz, force)) {
      addOrder(out, turns, rate, speedHz, line);
    }
    for (const { hz, mmS } of [
      ...(moment.neighbourRuns ? plant.neighbours : []),
      ...this.#hum(moment, speedHz),
    ]) {
      addTone(out, rate, hz * (1 + 0.0005 * gauss()), mmS, random);
    }
    const blows = this.#blows(moment, turns);
    this.#ring(out, blows, moment, gauss);
    const channels = out.map((signal) => {
      const counts = 32_768 / RANGE_G;
      return Int16Array.from(signal, (value) =>
        Math.max(-32_768, Math.min(32_767, Math.round(value * counts))),
      );
    });
    return { speedRpm: speedHz * 60, channels };
  }

  /** Forces at multiples of the shaft, as velocities before the structure. */
  #orders({ troubles, load }: Moment, speedHz: number, force: number): Line[] {
    const { usual, character, modes, blades, teeth, wake, mesh } = this.#plant;
    const random = this.#random;
    const lines: Line[] = [];
    const add = (order: number, h: number, v: number, a: number, turned = 0.25) => {
      const gain = (d: number) => gainAt(modes, d, order * speedHz);
      const at = random() * 0.02;
      lines.push([
        order,
        [h * gain(0), v * gain(1), a * gain(2)],
        [at, at + turned, at + 0.1 * (character[0] ?? 0)],
      ]);
    };
    const sway = () => 1 + 0.12 * (random() - 0.5);
    for (const [i, mmS] of usual.entries()) {
      const size = mmS * sway() * (0.7 + 0.3 * load) * force;
      add(i + 1, size, size * 0.7, size * (0.2 + 0.5 * (character[1] ?? 0)));
    }
    add(blades, wake * load * sway() * force, wake * load * 0.8 * force, wake * 0.3 * force);
    this.#meshLines(add, teeth, mesh * (0.5 + 0.5 * load), 0.15);
    for (const { kind, size } of troubles) {
      const [c0 = 0, c1 = 0, c2 = 0] = character;
      const s = size * force;
      if (kind === "unbalance") add(1, s, s * (0.4 + 0.6 * c0), s * (0.05 + 0.4 * c1));
      if (kind === "bent shaft") {
        add(1, s * (0.4 + 0.4 * c0), s * (0.4 + 0.4 * c1), s * (0.7 + 0.5 * c2), 0.5);
        add(2, s * 0.2 * c0, s * 0.2 * c1, s * 0.35 * c2);
      }
      if (kind === "misalignment") {
        // Parallel to angular.
        const angular = c0;
        const second = 0.6 + 1.2 * c1;
        const first = size * (0.35 + 0.3 * c2);
        add(
          1,
          first * (1 - 0.5 * angular),
          first * 0.8 * (1 - 0.5 * angular),
          first * (0.2 + 1.3 * angular),
        );
        const across = first * second * (1 - 0.6 * angular);
        add(2, across, across * 0.7, first * second * (0.2 + 0.9 * angular));
        add(3, 0.25 * first, 0.2 * first, 0.2 * first * angular);
      }
      if (kind === "looseness") {
        for (let n = 1; n <= 12; n++) {
          const share = (0.55 / Math.sqrt(n)) * (0.6 + 0.8 * random());
          add(n, s * share, s * share * (0.7 + 0.8 * c1), s * share * 0.3);
          if (c2 > 0.4) add(n - 0.5, s * share * 0.35, s * share * 0.45, s * share * 0.1);
        }
      }
      if (kind === "loose base") {
        add(1, s * 0.3, s * 0.8, s * 0.1, 0);
        add(2, s * 0.3, s * 0.9, s * 0.1, 0);
      }
      if (kind === "blade pass") {
        add(blades, s * (0.5 + 0.5 * load), s * 0.7 * load, s * 0.4);
        add(2 * blades, s * 0.35, s * 0.25, s * 0.2);
      }
      if (kind === "gear mesh")
        this.#meshLines(add, teeth, size * (0.6 + 0.4 * load), 0.35 + 0.3 * c0);
    }
    return lines;
  }

  #meshLines(
    add: (order: number, h: number, v: number, a: number) => void,
    teeth: number,
    mmS: number,
    side: number,
  ): void {
    for (const [n, share] of [
      [1, 0.8],
      [2, 0.45],
      [3, 0.25],
    ] as const) {
      const size = mmS * share;
      add(n * teeth, size, size * 0.8, size * 0.6);
      for (const m of [1, 2]) {
        for (const sign of [-1, 1])
          add(n * teeth + sign * m, (size * side) / m, (size * side) / m, (size * side * 0.6) / m);
      }
    }
  }

  #hum({ troubles }: Moment, speedHz: number): { hz: number; mmS: number }[] {
    const { lineHz, hum } = this.#plant;
    const size = troubles.find(({ kind }) => kind === "electrical")?.size ?? 0;
    const poles = Math.max(1, Math.round(lineHz / speedHz));
    const slipHz = Math.max(0.05, lineHz - poles * speedHz);
    const lines = [{ hz: 2 * lineHz, mmS: hum + size }];
    if (size > 0) {
      lines.push(
        { hz: 2 * lineHz - 2 * slipHz, mmS: 0.15 * size },
        { hz: 2 * lineHz + 2 * slipHz, mmS: 0.15 * size },
      );
    }
    return lines;
  }

  /** Blows of a damaged bearing at fractions of samples, G·samples. */
  #blows({ troubles, load }: Moment, turns: Float64Array): { at: number; size: number }[] {
    const { bearing, slip, jitter, character } = this.#plant;
    const random = this.#random;
    const gauss = gaussOf(random);
    const q = (bearing.ballMm / bearing.pitchMm) * Math.cos((bearing.angleDeg * Math.PI) / 180);
    const orders = {
      "outer race": (bearing.balls / 2) * (1 - q),
      "inner race": (bearing.balls / 2) * (1 + q),
      "rolling element": (bearing.pitchMm / bearing.ballMm) * (1 - q * q),
      cage: (1 - q) / 2,
    };
    const cageOrder = orders.cage * (1 - slip);
    const blows: { at: number; size: number }[] = [];
    const last = turns.at(-1) ?? 0;
    const first = turns[0] ?? 0;
    for (const { kind, size } of troubles) {
      if (!(kind in orders)) continue;
      const order =
        orders[kind as keyof typeof orders] * (kind === "inner race" ? 1 + slip * 0.6 : 1 - slip);
      // A damaged cage drags and runs free: not every record shows it.
      if (kind === "cage" && random() < 0.4) continue;
      const start = random() * 100;
      let n = 0;
      let strikes = 0;
      const spread = random();
      for (
        let at = first + random() / order;
        at < last;
        at += (1 + jitter * gauss()) / order, strikes++
      ) {
        while (n + 1 < turns.length && (turns[n + 1] ?? 0) < at) n++;
        const step = (turns[n + 1] ?? 0) - (turns[n] ?? 0);
        const place = n + (step > 0 ? (at - (turns[n] ?? 0)) / step : 0);
        const zone = (turnsAgo: number) =>
          loadZone(turnsAgo + start, 0.25 + 0.4 * (character[0] ?? 0));
        const weight = {
          "outer race": 1 + 0.35 * (character[1] ?? 0) * Math.cos(2 * Math.PI * (at + spread)),
          "inner race": zone(at),
          // Both races in turn, of which the inner answers less; the spot may roll aside.
          "rolling element":
            zone(at * cageOrder) * (strikes % 2 === 0 ? 1 : 0.4 + 0.5 * (character[2] ?? 0)),
          cage: 0.6 + 0.8 * random(),
        }[kind as keyof typeof orders];
        blows.push({
          at: place,
          size: size * weight * (0.6 + 0.4 * load) * Math.exp(0.25 * gauss()),
        });
      }
    }
    return blows;
  }

  /** Each mode rings by blows and noise, and is seen differently in each direction. */
  #ring(
    out: readonly Float64Array[],
    blows: readonly { at: number; size: number }[],
    { upset, load }: Moment,
    gauss: () => number,
  ): void {
    const { samples, sampleRateHz: rate, modes, noiseG, flow } = this.#plant;
    const struck = new Float64Array(samples + 1);
    for (const { at, size } of blows) {
      const n = Math.floor(at);
      if (n < 0 || n >= samples) continue;
      struck[n] = (struck[n] ?? 0) + size * (1 - (at - n));
      struck[n + 1] = (struck[n + 1] ?? 0) + size * (at - n);
    }
    const noisy = struck.map((blow) => blow + noiseG * gauss());
    for (const { hz, damping, gains } of modes) {
      if (hz > rate / SENSOR_FILTER) continue;
      const w = (2 * Math.PI * hz) / rate;
      const r = Math.exp(-damping * w);
      const a1 = 2 * r * Math.cos(w * Math.sqrt(1 - damping * damping));
      const a2 = r * r;
      let one = 0;
      let two = 0;
      // The same force moves the heavy frame less than the light housing.
      const scale = Math.sin(w) * Math.min(1, hz / 2000) ** 2;
      // Noise of friction and flow sounds high; the frame below answers to blows only.
      const drive = hz < LOWEST_SOUND_HZ ? struck : noisy;
      for (let n = 0; n < samples; n++) {
        const now = a1 * one - a2 * two + scale * (drive[n] ?? 0);
        // The displacement rings; its acceleration falls with the square of the frequency below the mode.
        const g = (now - 2 * one + two) / (w * w);
        two = one;
        one = now;
        for (let d = 0; d < 3; d++) {
          const signal = out[d];
          if (signal !== undefined) signal[n] = (signal[n] ?? 0) + (gains[d] ?? 0) * g;
        }
      }
    }
    // Flow: velocity noise that falls with the frequency above 60 Hz, and the noise of the sensor.
    const keep = Math.exp((-2 * Math.PI * 60) / rate);
    for (const signal of out) {
      let low = 0;
      let before = 0;
      const size = flow * upset * (0.5 + 0.5 * load) * Math.sqrt(1 - keep * keep);
      for (let n = 0; n < samples; n++) {
        low = keep * low + size * gauss();
        signal[n] = (signal[n] ?? 0) + ((low - before) * rate) / G_MM_S2 + 0.3 * noiseG * gauss();
        before = low;
      }
    }
  }
}
