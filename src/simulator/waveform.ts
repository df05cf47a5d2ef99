import { machineState } from "./machines.ts";
import { BELT_FAN, type PlantSensor, type SimulatedMachine } from "./plant.ts";
import { chance, mix, RandomSequence } from "./random.ts";

/** m/s² in one G, as the services' documentation has it. */
const G_MS2 = 9.8;
/** Ball-pass frequency of the outer race over shaft speed, of a common deep-groove bearing. */
const BPFO_ORDER = 3.585;
const COUNTS_MAX = 32767;

export interface WaveformShape {
  readonly sampleRateHz: number;
  readonly samples: number;
  /** Full scale, G. */
  readonly rangeG: number;
}

interface WaveTone {
  readonly hz: number;
  /** Peak, G. */
  readonly g: number;
}

/** Peak acceleration in G of a tone whose velocity is `mms` mm/s rms. */
function toneOf(hz: number, mms: number): WaveTone {
  return { hz, g: (mms * Math.SQRT2 * TURN * hz) / 1000 / G_MS2 };
}

/** A sound rotor's, mm/s RMS. */
const UNBALANCE_MMS = 0.7;
/** A loaded belt creeps by this share. */
const BELT_CREEP = 0.006;
/** What goes through base and belt from one shaft's bearing to the other's, as a share. */
const CROSSTALK = 0.15;
/** Of the blades of a fan, mm/s RMS. */
const BLADE_PASS_MMS = 0.2;

/** How much of the machine's vibration each direction feels: H, V, A. */
const AXIS_GAIN = [1, 0.75, 0.45] as const;

/**
 * Acceleration at the machine's bearing: unbalance (1x), misalignment (2x, axial), looseness (halves and many
 * harmonics), a failing bearing (impacts that ring a resonance, modulated by the shaft), and noise; signed 16-bit.
 */
export function synthesise(
  sensor: PlantSensor,
  atMs: number,
  axis: 0 | 1 | 2,
  shape: WaveformShape,
): Int16Array {
  const { machine } = sensor;
  const state = machineState(machine, atMs);
  const random = new RandomSequence(mix(mix(sensor.seed, 100 + axis), atMs));
  const motorHz = state.speedRpm / 60;
  const fanHz = motorHz * BELT_FAN.shaft.speedRatio * (1 - BELT_CREEP * state.load);
  const shaftHz = sensor.shaft === null ? motorHz : fanHz;
  const gain = AXIS_GAIN[axis] * (0.9 + 0.2 * chance(sensor.seed, axis, 70));
  const signal = new Float64Array(shape.samples);
  // Even at rest the floor shakes a little.
  const noiseG = 0.002 + (shaftHz > 1 ? 0.03 * (0.5 + state.load) : 0);
  for (let k = 0; k < signal.length; k++) signal[k] = noiseG * random.noise();
  if (shaftHz > 1) {
    const speedShare = (state.speedRpm / machine.speedRpm) ** 2;
    const fan = machine.hasBeltFan ? { motorHz, fanHz, isHere: sensor.shaft !== null } : null;
    for (const tone of tonesOf(machine, shaftHz, state.severity, axis, fan)) {
      addTone(
        signal,
        tone.hz,
        tone.g * gain * speedShare,
        random.next() * TURN,
        shape.sampleRateHz,
      );
    }
    const severity = machine.defect === "bearing" ? state.severity : 0.05 * state.severity;
    addImpacts(signal, shaftHz, 2.6 * severity * gain, random, shape.sampleRateHz);
  }
  return quantise(signal, shape.rangeG);
}

/** A fan behind a belt, as one of the machine's bearings feels it. */
interface BeltFan {
  readonly motorHz: number;
  readonly fanHz: number;
  readonly isHere: boolean;
}

function tonesOf(
  machine: SimulatedMachine,
  hz: number,
  severity: number,
  axis: number,
  fan: BeltFan | null,
): WaveTone[] {
  const grown = (defect: SimulatedMachine["defect"], mms: number) =>
    machine.defect === defect ? mms * severity : 0;
  const ofRotor = grown("unbalance", 6.5);
  // A worn bearing has clearance, so the shaft's own vibration rises with it.
  const ofClearance = grown("bearing", 3.2);
  // Of two rotors it is the fan that dirt settles on.
  const unbalance = UNBALANCE_MMS + ofClearance + (fan?.isHere === false ? 0 : ofRotor);
  const misalignment = (0.2 + grown("misalignment", 6)) * (axis === 2 ? 1.8 : 1);
  const looseness = grown("looseness", 3.5) + grown("bearing", 1.4);
  const tones = [toneOf(hz, unbalance), toneOf(2 * hz, misalignment), toneOf(100, 0.12)];
  if (looseness > 0.01) {
    for (const order of [0.5, 1.5, 2, 3, 4, 5])
      tones.push(toneOf(order * hz, looseness / (1 + order)));
  }
  if (fan !== null) tones.push(...tonesOfFan(fan, UNBALANCE_MMS + ofRotor));
  return tones;
}

/** What the other shaft adds, and the blades. @param unbalance of the fan, mm/s RMS */
function tonesOfFan({ motorHz, fanHz, isHere }: BeltFan, unbalance: number): WaveTone[] {
  if (!isHere) return [toneOf(fanHz, CROSSTALK * unbalance)];
  return [
    toneOf(motorHz, CROSSTALK * UNBALANCE_MMS),
    toneOf(BELT_FAN.shaft.blades * fanHz, BLADE_PASS_MMS),
  ];
}

function addTone(signal: Float64Array, hz: number, g: number, phase: number, rateHz: number): void {
  if (hz < rateHz / 2) addSine(signal, hz, g, phase, rateHz);
}

/** Rolling elements hit the damage; each impact rings the housing's resonance for a few milliseconds. */
function addImpacts(
  signal: Float64Array,
  shaftHz: number,
  peakG: number,
  random: RandomSequence,
  rateHz: number,
): void {
  if (peakG < 0.005) return;
  const resonanceHz = Math.min(3100, 0.36 * rateHz);
  const ringSamples = Math.ceil(0.006 * rateHz);
  const decay = 1 / (0.0013 * rateHz);
  const periodSamples = rateHz / (BPFO_ORDER * shaftHz);
  for (let at = random.next() * periodSamples; at < signal.length; ) {
    const load = 1 + 0.35 * Math.sin((TURN * shaftHz * at) / rateHz);
    const strike = peakG * load * (0.85 + 0.3 * random.next());
    const first = Math.ceil(at);
    for (let k = first; k < Math.min(signal.length, first + ringSamples); k++) {
      const since = k - at;
      signal[k] =
        (signal[k] ?? 0) +
        strike * Math.exp(-since * decay) * Math.sin((TURN * resonanceHz * since) / rateHz);
    }
    // Rolling elements slip by about one per cent.
    at += periodSamples * (0.99 + 0.02 * random.next());
  }
}

function quantise(signal: Float64Array, rangeG: number): Int16Array {
  const countsPerG = (COUNTS_MAX + 1) / rangeG;
  const out = new Int16Array(signal.length);
  for (let k = 0; k < out.length; k++) {
    const counts = Math.round((signal[k] ?? 0) * countsPerG);
    out[k] = Math.max(-COUNTS_MAX - 1, Math.min(COUNTS_MAX, counts));
  }
  return out;
}

/** One turn, rad. */
export const TURN = 2 * Math.PI;

/** Adds a sine by rotating a vector, which costs no call per sample. */
export function addSine(
  signal: Float64Array,
  hz: number,
  amplitude: number,
  phase: number,
  rateHz: number,
): void {
  const turnCos = Math.cos((TURN * hz) / rateHz);
  const turnSin = Math.sin((TURN * hz) / rateHz);
  let x = amplitude * Math.cos(phase);
  let y = amplitude * Math.sin(phase);
  for (let k = 0; k < signal.length; k++) {
    signal[k] = (signal[k] ?? 0) + y;
    const next = x * turnCos - y * turnSin;
    y = x * turnSin + y * turnCos;
    x = next;
  }
}
