/** The line of a spectrum that stands for a tone: every table beside a plot tells what the plot draws. */

export interface DrawnLine {
  readonly hz: number;
  readonly amplitude: number;
}

/**
 * The highest of the line nearest to a tone and of those beside it; null where the spectrum has no such line.
 * @param stepHz between lines
 */
export function drawnLine(
  values: ArrayLike<number>,
  stepHz: number,
  toneHz: number,
): DrawnLine | null {
  if (!(stepHz > 0)) return null;
  const near = Math.round(toneHz / stepHz);
  const line = [near - 1, near, near + 1].reduce((best, at) =>
    (values[at] ?? -1) > (values[best] ?? -1) ? at : best,
  );
  const amplitude = values[line];
  return amplitude === undefined ? null : { hz: line * stepHz, amplitude };
}
