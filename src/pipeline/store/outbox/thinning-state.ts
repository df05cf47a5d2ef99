/** What is kept on disk of an uplink that takes fewer readings: a text in `meta` for each sensor and kind. */

import type { Judged } from "../../../core/delivery/thinning.ts";
import { parsedJson } from "../../../core/parsed-json.ts";
import type { Database } from "../database/database.ts";

export interface Track {
  readonly last: Judged | null;
  /** The newest of the period that is not over. */
  readonly held: { readonly seq: number; readonly timeMs: number } | null;
}

export interface State {
  readonly newest: Track;
  readonly late: Track;
  /** Row numbers of what went last: an alarm that is judged later must not send it again. */
  readonly went: readonly number[];
  /** The same, of what was stored before the uplink was added. */
  readonly filled: readonly number[];
}
export type TrackName = "newest" | "late";

const EMPTY: Track = { last: null, held: null };
export const NO_STATE: State = { newest: EMPTY, late: EMPTY, went: [], filled: [] };

/** A reading waits half an hour at most for its machine's signal: with a period of a minute, this many. */
const WENT_MAX = 30;
/** The newest rows of these. */
export const withSeq = (seqs: readonly number[], seq: number): readonly number[] =>
  [...seqs, seq].sort((a, b) => a - b).slice(-WENT_MAX);

/** From and before which keys the states of an uplink lie. */
export const keysOf = (uplink: string) => [`thinned:${uplink}:`, `thinned:${uplink};`] as const;
const asideKeysOf = (lane: number) => [`unheld:${lane}:`, `unheld:${lane};`] as const;

/** A damaged text counts as none: the next reading then goes. */
export function stateOf(text: string): State {
  const state = parsedJson<Partial<State>>(text);
  const seqs = (value: unknown) =>
    Array.isArray(value) ? value.filter((seq) => Number.isSafeInteger(seq)) : [];
  return {
    newest: trackOf(state?.newest),
    late: trackOf(state?.late),
    went: seqs(state?.went),
    filled: seqs(state?.filled),
  };
}

function trackOf(track: Partial<Track> | null | undefined): Track {
  const { last, held } = track ?? {};
  const isJudged =
    Number.isFinite(last?.timeMs) &&
    typeof last?.values === "object" &&
    typeof last.quality === "object";
  const isHeld = Number.isSafeInteger(held?.seq) && Number.isFinite(held?.timeMs);
  return { last: isJudged ? (last ?? null) : null, held: isHeld ? (held ?? null) : null };
}

const ASIDE_SQL = "UPDATE meta SET name = ? || substr(name, ?) WHERE name >= ? AND name < ?";
const ASIDE_STATES_SQL =
  "SELECT name, value FROM meta WHERE name >= ? AND name < ? ORDER BY name LIMIT ?";

/** Inside the transaction that removes the uplink: one of that name that is added again begins anew. */
export function setAside(db: Database, uplink: string, lane: number): void {
  const [from, to] = keysOf(uplink);
  db.write(ASIDE_SQL).run(asideKeysOf(lane)[0], from.length + 1, from, to);
}

/** Takes some of the states that were set aside with a lane, inside a transaction. Returns how many, and what they held. */
export function takeAside(db: Database, lane: number, statesMax: number) {
  const [from, to] = asideKeysOf(lane);
  const states = db
    .write<{ name: string; value: string }>(ASIDE_STATES_SQL)
    .all(from, to, statesMax);
  const held = states.flatMap(({ name, value }) => {
    const { newest, late } = stateOf(value);
    const stream = Number(name.slice(from.length));
    return [late, newest].flatMap((track) =>
      track.held === null ? [] : [{ stream, timeMs: track.held.timeMs }],
    );
  });
  for (const { name } of states) db.write("DELETE FROM meta WHERE name = ?").run(name);
  return { states: states.length, held };
}
