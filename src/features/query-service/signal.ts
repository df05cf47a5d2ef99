/** Spectra and waveforms of the query service, computed from stored samples. */

import { packFloats } from "../../core/query/packed.ts";
import type { SignalSeries } from "../../core/query/ports.ts";
import type { Sensor } from "../../core/sensor.ts";
import type { StoredWaveform } from "../../core/stored-reading.ts";
import { CPM_PER_HZ, type SignalUnit } from "../../core/unit.ts";
import { yieldToLoop } from "../../lib/yield-to-loop.ts";
import { API_COORDINATES, API_PACKED, API_REQUEST } from "../../pipeline/wire/names.ts";
import type { QueryContext, QueryResponse } from "./context.ts";
import { fault, QUERY_STATUS, type QueryFault, type QueryFields } from "./rules/request.ts";

const F = API_REQUEST;
const SPECTRUM = 1;
/** Numbers written at a time. */
const NUMBERS_PER_PIECE = 2_000;

export async function fftBase64(
  context: QueryContext,
  fields: QueryFields,
): Promise<QueryResponse | QueryFault> {
  const found = findFile(context, fields, fields.integer(F.pointindex));
  if ("statusNumber" in found) return found;
  const { stored, sensor } = found;
  const type = fields.integer(F.outputType) ?? SPECTRUM;
  const unit = fields.integer(F.signalTypeOut) as SignalUnit;
  await yieldToLoop();
  const isSpectrum = type === SPECTRUM;
  const series = isSpectrum
    ? lines(context.parts.series.spectrum(stored, unit, sensor), stored)
    : context.parts.series.waveform(stored, unit, sensor);
  // `hz` is inverted: true asks for CPM (services section 4.1).
  const scale = isSpectrum && fields.boolean(F.hz) ? CPM_PER_HZ : 1;
  const tail = {
    [API_PACKED.sampleRate]: stored.sampleRateHz,
    [API_PACKED.type]: type,
    [API_PACKED.step]: series.step * scale,
    // Position of the first float: tapered ends are not in the series.
    [API_PACKED.start]: series.firstIndex * series.step,
  };
  function* pieces(): Generator<string> {
    yield `{"${API_PACKED.base64}":"`;
    yield* packFloats(series.values);
    yield `",${JSON.stringify(tail).slice(1)}`;
  }
  return { pieces: pieces() };
}

/** The deprecated form: waveform first, then spectrum, both in G, as coordinates in seconds and Hz. */
export async function fft(
  context: QueryContext,
  fields: QueryFields,
): Promise<QueryResponse | QueryFault> {
  const found = findFile(context, fields, null);
  if ("statusNumber" in found) return found;
  const { stored, sensor } = found;
  const waveform = context.parts.series.waveform(stored, 0, sensor);
  await yieldToLoop();
  const spectrum = lines(context.parts.series.spectrum(stored, 0, sensor), stored);
  function* pieces(): Generator<string> {
    yield "[";
    yield* coordinates(waveform);
    yield ",";
    yield* coordinates(spectrum);
    yield "]";
  }
  return { pieces: pieces() };
}

/** A file id names one axis of one measurement; machine and point must match it, or be −1. */
function findFile(
  { parts, tree }: QueryContext,
  fields: QueryFields,
  point: number | null,
): { readonly stored: StoredWaveform; readonly sensor: Sensor | null } | QueryFault {
  const fileId = fields.integer(F.fileid) ?? 0;
  const stored = fileId > 0 && fileId <= 0x7fffffff ? parts.waveforms.read(fileId) : null;
  const sensor = stored === null ? null : tree.sensor(stored.sensor);
  const machine = fields.filter(F.machinecode);
  const place = sensor?.location;
  const isThere =
    place === undefined ||
    ((machine === null || place.machine === machine) &&
      (point === null || point === -1 || place.point === point));
  if (stored === null || !isThere) {
    return fault(
      QUERY_STATUS.fileUnknown,
      "no waveform with this fileid is stored for this machine and point",
    );
  }
  return { stored, sensor };
}

/**
 * N lines such that line k is at k × SR/(2N) (services section 6): the line at half the sample rate is left out, and
 * the lines above the envelope's low-pass are zeros.
 */
function lines(series: SignalSeries, { sampleRateHz }: StoredWaveform): SignalSeries {
  if (series.values.length === 0 || series.step <= 0) return { ...series, step: 0 };
  const count = Math.floor(Math.round(sampleRateHz / series.step) / 2);
  const values = new Float64Array(count);
  values.set(series.values.subarray(0, count));
  return { ...series, values };
}

function* coordinates({ values, step, firstIndex }: SignalSeries): Generator<string> {
  yield `{"${API_COORDINATES.x}":[`;
  yield* numbers(values.length, (index) => (firstIndex + index) * step);
  yield `],"${API_COORDINATES.y}":[`;
  yield* numbers(values.length, (index) => values[index] ?? 0);
  yield "]}";
}

function* numbers(count: number, at: (index: number) => number): Generator<string> {
  for (let from = 0; from < count; from += NUMBERS_PER_PIECE) {
    const piece = Array.from({ length: Math.min(NUMBERS_PER_PIECE, count - from) }, (_, offset) =>
      at(from + offset),
    );
    yield `${from === 0 ? "" : ","}${piece.join(",")}`;
  }
}
