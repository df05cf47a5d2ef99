/** Removal of a polynomial fitted by weighted least squares (signal-definitions 6, step 2). */
import { hann } from "./window.ts";

/**
 * The signal without its polynomial of degree 2 or 3 in u = (2n-(N-1))/N, fitted under the Hann weights: it takes out
 * constants and drift and leaves tones alone. Legendre polynomials keep the equations well conditioned.
 */
export function detrended(signal: Float64Array, degree: number): Float64Array {
  const size = signal.length;
  const { weights } = hann(size);
  const terms = degree + 1;
  const matrix = Array.from({ length: terms }, () => new Float64Array(terms + 1));
  const basis = new Float64Array(terms);
  for (let n = 0; n < size; n++) {
    legendre(basis, n, size);
    const weight = weights[n] ?? 0;
    matrix.forEach((row, i) => {
      const scaled = weight * (basis[i] ?? 0);
      for (let j = 0; j < terms; j++) row[j] = (row[j] ?? 0) + scaled * (basis[j] ?? 0);
      row[terms] = (row[terms] ?? 0) + scaled * (signal[n] ?? 0);
    });
  }
  const coefficients = solved(matrix);
  return signal.map((value, n) => {
    legendre(basis, n, size);
    return coefficients.reduce((rest, c, i) => rest - c * (basis[i] ?? 0), value);
  });
}

/** P0..Pdegree at sample n, by the recurrence (i+1)·P[i+1] = (2i+1)·u·P[i] - i·P[i-1]. */
function legendre(basis: Float64Array, n: number, size: number): void {
  const u = (2 * n - (size - 1)) / size;
  basis[0] = 1;
  basis[1] = u;
  for (let i = 1; i + 1 < basis.length; i++) {
    basis[i + 1] = ((2 * i + 1) * u * (basis[i] ?? 0) - i * (basis[i - 1] ?? 0)) / (i + 1);
  }
}

/** Gaussian elimination. The matrix is symmetric and positive definite, so no pivoting is needed. */
function solved(rows: Float64Array[]): number[] {
  rows.forEach((pivot, i) => {
    for (const row of rows.slice(i + 1)) {
      const factor = (row[i] ?? 0) / (pivot[i] ?? 1);
      pivot.forEach((value, j) => {
        row[j] = (row[j] ?? 0) - factor * value;
      });
    }
  });
  const solution = Array.from(rows, () => 0);
  for (let i = rows.length - 1; i >= 0; i--) {
    const row = rows[i];
    if (row === undefined) continue;
    let rest = row[rows.length] ?? 0;
    for (let j = i + 1; j < rows.length; j++) rest -= (row[j] ?? 0) * (solution[j] ?? 0);
    solution[i] = rest / (row[i] ?? 1);
  }
  return solution;
}
