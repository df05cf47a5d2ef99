/**
 * Findings of all machines: readings with tones in, findings out. No I/O: what must be written is returned as a
 * FollowUp for the transaction of the readings, like the alarms'. If that is rolled back, the change is taken back. In one file: each method
 * is a change or a view of the same states.
 */

import { type AlarmEvent, eventId, takenOverId } from "../../../core/alarm/event.ts";
import { type Stage, UNEXPLAINED } from "../../../core/diagnosis/finding.ts";
import type { FollowedReading } from "../../../core/followed-reading.ts";
import { grouped } from "../../../core/lists/grouped.ts";
import type { Machine } from "../../../core/machine.ts";
import type { ChannelTones } from "../../../core/reading.ts";
import { type Kind, normalCode, type Sensor } from "../../../core/sensor.ts";
import { shaftAt } from "../../../core/shaft.ts";
import type { Site } from "../../../core/site.ts";
import { type Tx, TxMap } from "../../../core/tx.ts";
import type { WantedTones } from "../../../pipeline/signal/tones.ts";
import type { Findings, FollowUp } from "../../alarms/api.ts";
import {
  FINDING_ALARM,
  KeptStates,
  SAVED_PREFIX,
  type SavedState,
  sinceMs,
} from "../../alarms/api.ts";
import { type Wait, waitingText } from "../../machines/api.ts";
import { eventOf } from "./finding-event.ts";
import { judge } from "./judge.ts";
import { withLately } from "./lately.ts";
import { possibleAlarms } from "./possible.ts";
import {
  advance,
  extend,
  loadFindings,
  NO_FINDINGS,
  type SensorFindings,
  saveFindings,
  UNKNOWN_MS,
} from "./sensor-findings.ts";
import { THRESHOLDS, type Thresholds } from "./thresholds.ts";
import { KEEP_SHARE } from "./unexplained-state.ts";
import {
  hintOf,
  standingLines,
  standingUnexplained,
  takenOver,
  withUnexplained,
} from "./unexplained-step.ts";
import { knownHere, placeOf, type Watched, watchedOn } from "./watched.ts";

export interface FindingOptions {
  /** State and speed of the machines, and what waits for them. */
  readonly wait: Pick<Wait, "admit" | "due" | "isSignal" | "speedAround" | "stateAt">;
  readonly thresholds?: Thresholds;
}

/** A record of which all axes are damaged is as if there were none. */
const isJudgeable = (tones: readonly ChannelTones[]) =>
  tones.length === 0 || tones.some(({ isDamaged }) => isDamaged !== true);

export class FindingEngine implements Findings {
  readonly #options: FindingOptions;
  #watched: ReadonlyMap<string, Watched> = new Map();
  readonly #states = new KeptStates<SensorFindings>({
    prefix: SAVED_PREFIX,
    load: loadFindings,
    save: saveFindings,
  });
  /** Time of the newest reading that arrived, ms, whether it waits or was judged. */
  readonly #arrived = new TxMap<string, number>();
  #machines: readonly Machine[] = [];
  #byMachine: ReadonlyMap<number, readonly Sensor[]> = new Map();
  /** What stands on them waits for the first reading of a sensor that may take it over. */
  #replaced: ReadonlySet<string> = new Set();

  constructor(site: Site, options: FindingOptions) {
    this.#options = options;
    this.setSite(site);
  }

  setSite(site: Site): void {
    this.#machines = site.machines ?? [];
    const watched = watchedOn(site);
    this.#replaced = new Set([...watched.values()].flatMap(({ formers }) => formers));
    this.#watched = watched;
    const sensors = [...watched.values()].map(({ sensor }) => sensor);
    this.#byMachine = grouped(sensors, ({ location }) => location?.machine ?? 0);
  }

  get machines(): readonly Machine[] {
    return this.#machines;
  }

  /** Sensors of a machine that findings are based on. */
  sensorsOf(machine: number): readonly Sensor[] {
    return this.#byMachine.get(machine) ?? [];
  }

  /** Values that its alarm may have on a sensor. */
  possible(sensor: string): readonly string[] {
    const watched = this.#watched.get(normalCode(sensor));
    return watched === undefined ? [] : possibleAlarms(watched.machine, watched.sensor);
  }

  possibleOn(machine: Machine | undefined, sensor: Sensor): readonly string[] {
    return possibleAlarms(machine, sensor);
  }

  /** Machine and sensor by their names; the code of a sensor that is not watched. */
  placeOf(sensor: string): string {
    return this.#watched.get(normalCode(sensor))?.place ?? `sensor ${sensor}`;
  }

  of(sensor: string): SensorFindings {
    return this.#states.get(normalCode(sensor)) ?? NO_FINDINGS;
  }

  judgedMs(sensor: string): number | null {
    const { seen, newestMs } = this.of(sensor);
    return seen?.timeMs ?? newestMs ?? null;
  }

  isDiagnosed(sensor: string): boolean {
    return this.#watched.has(normalCode(sensor));
  }

  /** The envelopes show only bearings: where the point has none, or nothing is told without a speed, they are left out. */
  wantedTones(sensor: string): WantedTones {
    const watched = this.#watched.get(normalCode(sensor));
    if (watched === undefined) return false;
    const { machine } = watched;
    const point = watched.sensor.location?.point;
    const hasBearing = (machine.bearings ?? []).some((bearing) => bearing.point === point);
    return machine.speed !== undefined && hasBearing ? true : "accel";
  }

  /** Forgets everything: what the store holds follows, by `restore`. */
  clear(): void {
    this.#states.clear();
  }

  /** Sets one of its own saved states. Returns its code if the text cannot be read, else null. */
  restore(state: SavedState): string | null {
    return this.#states.restore(state);
  }

  /** Everything that should be on disk, for a store that was recreated and lost a part of it. */
  saved(): FollowUp["states"] {
    return this.#states.saved();
  }

  /**
   * The newest reading from before this process started: readings that are not newer count as late.
   * @param waitingMs of the first one that waits for state or speed
   */
  prime(sensor: string, newestMs: number, waitingMs: number | null = null): void {
    const code = normalCode(sensor);
    this.#arrived.set(code, newestMs);
    const known = this.#states.get(code);
    // What is kept without a finding does not say of which reading it was last: it changes with none.
    const judgedMs = waitingMs === null ? newestMs : waitingMs - 1;
    if (known?.newestMs === UNKNOWN_MS) this.#states.set(code, { ...known, newestMs: judgedMs });
  }

  /** Readings of one sensor and kind, about to be committed; the alarms have processed them. */
  follow(
    tx: Tx,
    sensor: string,
    kind: Kind,
    readings: readonly FollowedReading[],
  ): Pick<FollowUp, "events" | "states"> {
    const code = normalCode(sensor);
    const events: AlarmEvent[] = [];
    if (readings.some(({ isFuture }) => !isFuture)) this.#takeOver(tx, code);
    if (kind === "accel" && this.#watched.has(code)) {
      const inOrder = readings
        .filter(({ isFuture, tones }) => !isFuture && Array.isArray(tones) && isJudgeable(tones))
        .toSorted((a, b) => a.timeMs - b.timeMs);
      for (const reading of inOrder) events.push(...this.#arrive(tx, code, kind, reading));
    }
    if (this.#options.wait.isSignal(sensor, kind)) events.push(...this.#judgeDue(tx));
    return { events, states: this.#states.changes(tx) };
  }

  /** Judges readings whose machine's state and speed are known by now. */
  judgeDue(tx: Tx): Pick<FollowUp, "events" | "states"> {
    return { events: this.#judgeDue(tx), states: this.#states.changes(tx) };
  }

  #judgeDue(tx: Tx): AlarmEvent[] {
    const events: AlarmEvent[] = [];
    for (const { sensor, reading, isLate } of this.#options.wait.due(tx, "finding"))
      events.push(...this.#judge(tx, sensor, reading, isLate));
    return events;
  }

  /** The findings of sensors that were in its place before are its own from its first reading on. */
  #takeOver(tx: Tx, code: string): void {
    const watched = this.#watched.get(code);
    const formers = (watched?.formers ?? []).filter((former) => {
      const { states, reference, unexplained } = this.of(former);
      return states.size > 0 || (reference ?? null) !== null || unexplained !== undefined;
    });
    for (const former of formers) {
      const own = this.of(code);
      const states = new Map(own.states);
      for (const [key, state] of this.of(former).states) {
        if (own.states.get(key)?.stands || !this.possible(code).includes(key)) continue;
        const { stands } = state;
        const sensor = watched?.sensor.code ?? code;
        const of = { alarm: FINDING_ALARM, value: key };
        const moved = stands && {
          ...stands,
          id: takenOverId(of, sensor, former, stands.sinceMs),
        };
        states.set(key, { ...state, stands: moved });
      }
      const reference = own.reference ?? this.of(former).reference ?? null;
      const lines = watched && takenOver(own, this.of(former), watched, former);
      this.#states.change(tx, code, { ...own, states, reference, ...lines });
      this.#states.change(tx, former, NO_FINDINGS);
    }
  }

  #arrive(tx: Tx, sensor: string, kind: Kind, reading: FollowedReading): AlarmEvent[] {
    const { id, timeMs, isFuture, values, tones = null } = reading;
    const newestMs = this.#arrived.get(sensor);
    const isLate = newestMs !== undefined && timeMs <= newestMs;
    if (!isLate) this.#arrived.change(tx, sensor, timeMs);
    const of = { purpose: "finding", sensor, kind, isLate } as const;
    const text = () => waitingText({ id, timeMs, isFuture, values, quality: {}, tones });
    const mayJudge = this.#options.wait.admit(tx, of, timeMs, text);
    return mayJudge ? this.#judge(tx, sensor, reading, isLate) : [];
  }

  /** A late reading says nothing about the present, but since when the machine has shown what stands. */
  #judge(tx: Tx, code: string, reading: FollowedReading, isLate: boolean): AlarmEvent[] {
    const watched = this.#watched.get(code);
    if (watched === undefined) return [];
    const { machine, sensor } = watched;
    const { wait, thresholds = THRESHOLDS } = this.#options;
    const { id, timeMs } = reading;
    const before = knownHere(this.of(code), watched);
    const speed = wait.speedAround(machine.id, timeMs);
    const measuredRpm = speed?.rpm ?? null;
    const shaft = shaftAt(machine, sensor.location);
    // All that is judged is that of the shaft at the sensor.
    const speedRpm =
      measuredRpm === null || shaft === null ? measuredRpm : measuredRpm * shaft.speedRatio;
    const known = wait.stateAt(code, timeMs);
    const state = known ?? (machine.running === undefined ? "running" : "unknown");
    const judgement = judge(
      { tones: reading.tones ?? [], values: reading.values },
      {
        machine,
        sensor,
        speedRpm,
        isBelt: shaft?.belt === true,
        state,
        thresholds,
        reference: before.reference ?? null,
        isHeld: (key) => (before.states.get(key)?.stands ?? null) !== null,
        fullRpm: (key) => before.states.get(key)?.fullRpm ?? null,
        ...(speed !== null && {
          unexplained: { speed, keepShare: KEEP_SHARE, ...this.#explaining(watched) },
        }),
      },
    );
    if (state !== "standing" && (speedRpm === null || state === "unknown")) {
      const seen = { readingId: id, timeMs, speedRpm, cannot: judgement.cannot, judged: [] };
      if (!isLate) this.#states.change(tx, code, { ...before, seen });
      return [];
    }
    if (isLate) {
      this.#states.change(tx, code, extend(before, timeMs, judgement, thresholds));
      return [];
    }
    const idOf = (key: string) => eventId(FINDING_ALARM, sensor.code, key, id, "stands");
    const { next: advanced, changes } = advance(
      before,
      { id, timeMs, speedRpm },
      judgement,
      thresholds,
      idOf,
    );
    const told = { ...withLately(before, advanced, judgement), mount: placeOf(watched) };
    const { next, events } = withUnexplained(told, judgement, watched, reading, () =>
      idOf(UNEXPLAINED),
    );
    this.#states.change(tx, code, next);
    return [...changes.map((change) => eventOf(change, watched, id, timeMs)), ...events];
  }

  #explaining({ lines: { machine } }: Watched) {
    const of = (code: string) => this.of(code);
    return { machine, standing: standingLines(machine, this.sensorsOf(machine.id), of) };
  }

  /** Learns the normal state of a sensor's machine again, with its next readings. */
  relearn(tx: Tx, sensor: string): FollowUp["states"] {
    const code = normalCode(sensor);
    this.#states.change(tx, code, { ...this.of(code), reference: null });
    return this.#states.changes(tx);
  }

  /** Forgets what the site file no longer describes. @param hasReadings of a sensor, so that it takes over now */
  reconcile(tx: Tx, hasReadings: (code: string) => boolean): FollowUp["states"] {
    for (const code of this.#watched.keys()) if (hasReadings(code)) this.#takeOver(tx, code);
    for (const code of this.#states.codes()) {
      if (this.#replaced.has(code)) continue;
      const possible = this.possible(code);
      const watched = this.#watched.get(code);
      const known = this.of(code);
      const before = watched === undefined ? known : knownHere(known, watched);
      if (before !== known) this.#states.change(tx, code, before);
      const states = new Map([...before.states].filter(([key]) => possible.includes(key)));
      const { unexplained, ...others } = before;
      const isOver = unexplained !== undefined && !possible.includes(UNEXPLAINED);
      if (states.size < before.states.size || isOver)
        this.#states.change(tx, code, { ...(isOver ? others : before), states });
    }
    return this.#states.changes(tx);
  }

  /** The stage of each standing finding. */
  stages(): readonly Stage[] {
    return [...this.#watched.keys()].flatMap((code) =>
      [...this.of(code).states.values()]
        .filter(({ stands }) => stands !== null)
        .map(({ last }) => last.verdict.stage),
    );
  }

  /** Since when the machine has shown each standing finding of a sensor, ms, by the value of its alarm. */
  standingSince(code: string): ReadonlyMap<string, number> {
    const { states, unexplained } = this.of(code);
    const standing = [...states].filter(([, { stands }]) => stands !== null);
    const since = new Map(standing.map(([key, one]) => [key, sinceMs(one.since)]));
    const line = unexplained?.stands ?? null;
    return line === null ? since : since.set(UNEXPLAINED, line.sinceMs);
  }

  /** A standing finding with its newest reading; null where none stands. @param key of the value of its alarm */
  standingAs(code: string, key: string): { event: AlarmEvent; stage: Stage } | null {
    const watched = this.#watched.get(code);
    if (watched === undefined) return null;
    if (key === UNEXPLAINED) {
      const line = standingUnexplained(this.of(code), watched);
      return line && { event: line, stage: 1 };
    }
    const state = this.of(code).states.get(key);
    if (state === undefined || state.stands === null) return null;
    const { readingId, timeMs, verdict } = state.last;
    const event = eventOf({ change: "stands", state }, watched, readingId, timeMs);
    return { event, stage: verdict.stage };
  }

  /** What a line that nothing explains adds to a zone alarm of a channel; null: nothing. */
  hintOf(code: string, channel: number): string | null {
    const watched = this.#watched.get(code);
    return watched === undefined ? null : hintOf(this.of(code), watched, channel);
  }

  /** The events with which the standing findings would be told now. */
  standing(): readonly AlarmEvent[] {
    return [...this.#watched.keys()].flatMap((code) =>
      [...this.of(code).states.keys(), UNEXPLAINED].flatMap(
        (key) => this.standingAs(code, key)?.event ?? [],
      ),
    );
  }
}
