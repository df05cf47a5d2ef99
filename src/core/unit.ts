/** Units and the exact factors between them (signal-definitions 1 and 4). */

/** 1 G = 9.8 m/s²: the unit in which the samples' service declares its calibration, not standard gravity. */
export const MM_S2_PER_G = 9800;
export const UM_S2_PER_G = MM_S2_PER_G * 1000;
export const MM_PER_INCH = 25.4;
export const UM_PER_MIL = 25.4;
export const CPM_PER_HZ = 60;

/** Unit codes of waveforms and spectra, as the query service numbers them. */
export const SIGNAL_UNITS = ["G", "mm/s2", "mm/s", "in/s", "um", "mils", "GE"] as const;
export type SignalUnit = 0 | 1 | 2 | 3 | 4 | 5 | 6;

export const GE_UNIT = 6 satisfies SignalUnit;

export const AXES = ["H", "V", "A"] as const;
export type Axis = (typeof AXES)[number];

/** 1 = H, 2 = V, 3 = A (services 4.2). */
export const AXIS_CODES = { H: 1, V: 2, A: 3 } as const satisfies Record<Axis, number>;
