/** The result of a campaign so far: everything due compared with what each subscriber received, and the wait for the rest. */
import { execFile } from "node:child_process";
import { setTimeout as sleep } from "node:timers/promises";
import { promisify } from "node:util";
import { judgeEvents, storedEvents } from "./alarm-events.ts";
import { ask } from "./ask.ts";
import { cloudWants } from "./cloud-select.ts";
import { judge, missingWaveforms, storedIds } from "./compare.ts";
import { judgeUplinks, type UplinkVerdict } from "./compare-uplinks.ts";
import { droppedCount } from "./dropped.ts";
import type { Expectation, Expectations } from "./expectation.ts";
import type { GapRecord } from "./received.ts";
import type { Site } from "./site.ts";

/** If nothing new arrives for this long, nothing more is expected. */
const SETTLE_MS = 40_000;
/** A measurement is given up as one. */
const CHANNELS_MAX = 3;
const OWN_VIEW_MS = 5000;
/** The store is exported at most this often, because each export takes a process. */
const EXPORT_MS = 4000;

/** The part that a campaign uses. */
export interface StatusAnswer {
  readonly sensors?: readonly unknown[];
  readonly links?: readonly unknown[];
  readonly configurationFaults?: readonly string[];
  readonly buffer?: unknown;
  readonly gateway?: unknown;
}

const RUN = promisify(execFile);

export class Reckoning {
  readonly #site: Site;
  readonly #program: string;
  readonly #expectations: Expectations;
  readonly #log: (line: string) => void;
  #exportedAt = 0;

  constructor(
    site: Site,
    program: string,
    expectations: Expectations,
    log: (line: string) => void,
  ) {
    this.#site = site;
    this.#program = program;
    this.#expectations = expectations;
    this.#log = log;
  }

  gaps(): GapRecord[] {
    const { recorder, far } = this.#site;
    return [recorder, ...(far === null ? [] : [far.cloud, far.visitor])].flatMap((one) => [
      ...one.gaps,
    ]);
  }

  judgeFar(expectation: Expectation, stored: ReadonlySet<string> | null): UplinkVerdict[] {
    const { far, recorder } = this.#site;
    return far === null ? [] : judgeUplinks(expectation, recorder, far, this.gaps(), stored);
  }

  /** That of `main` first. */
  judgeAlarms({ may }: Pick<Expectation, "may">): ReturnType<typeof judgeEvents>[] {
    const { far, recorder, dataDir, siteFile } = this.#site;
    const stored = storedEvents(dataDir);
    const all = [judgeEvents(stored, recorder, () => true, may)];
    if (far === null) return all;
    const isChosen = (sensor: string) =>
      siteFile.kindsOf(sensor).some((kind) => cloudWants(sensor, kind));
    return [
      ...all,
      judgeEvents(stored, far.cloud, isChosen, may),
      judgeEvents(stored, far.visitor, () => true, may),
    ];
  }

  farFaults(): string[] {
    const { far } = this.#site;
    if (far === null) return [];
    return [
      ...far.cloud.faults.map((text) => `cloud: ${text}`),
      ...far.visitor.faults.map((text) => `visitor: ${text}`),
      ...far.host.faults.map((text) => `scada: ${text}`),
    ];
  }

  async status(): Promise<StatusAnswer> {
    const text = await ask(this.#site.dataDir, "/api/v1/status", OWN_VIEW_MS);
    return text === null ? {} : (JSON.parse(text) as StatusAnswer);
  }

  /** Waits until everything due has arrived, or nothing more can be expected; returns what was due. */
  async settled(): Promise<Pick<Expectation, "must" | "gone">> {
    const { recorder, host } = this.#site;
    const expectation = this.#expectations.now();
    let deadline = Date.now() + SETTLE_MS;
    let missingBefore = Number.POSITIVE_INFINITY;
    for (;;) {
      let verdict = judge(expectation, { recorder, host, stored: null });
      let far = this.judgeFar(expectation, null).flatMap(({ lost }) => lost);
      const isUnclear = verdict.dropped + verdict.takenBack + far.length > 0;
      // Readings that a gap record seems to cover may still be on their way: whatever the store still holds must arrive.
      if (verdict.lost.length === 0 && isUnclear && Date.now() > this.#exportedAt + EXPORT_MS) {
        const { ids } = await this.export();
        this.#exportedAt = Date.now();
        verdict = judge(expectation, { recorder, host, stored: ids });
        far = this.judgeFar(expectation, ids).flatMap(({ lost }) => lost);
      } else if (isUnclear) far.push("not looked at");
      far.push(...this.judgeAlarms(expectation).flatMap(({ lost }) => lost));
      const waveforms = missingWaveforms(expectation, { recorder, host }).length;
      const isDone = verdict.lost.length + far.length === 0 && !this.lacksWaveforms(expectation);
      if (isDone) return expectation;
      const missing = verdict.lost.length + far.length + waveforms;
      this.#log(
        `missing: ${verdict.lost.length} main, ${far.length} others, ${waveforms} waveforms`,
      );
      if (missing < missingBefore) deadline = Date.now() + SETTLE_MS;
      if (Date.now() > deadline) {
        this.#log(`the agent's own view: ${await this.#ownView()}`);
        return expectation;
      }
      missingBefore = missing;
      await sleep(1000);
    }
  }

  /** More waveforms are missing than the store reports as given up, alone or with their readings. */
  lacksWaveforms(expectation: Pick<Expectation, "must">): boolean {
    const { recorder, host, dataDir } = this.#site;
    const missing = missingWaveforms(expectation, { recorder, host });
    if (missing.length === 0) return false;
    return missing.length > droppedCount(dataDir) * CHANNELS_MAX;
  }

  async #ownView(): Promise<string> {
    const { buffer, links, gateway } = await this.status();
    return JSON.stringify({ buffer, links, gateway });
  }

  /** The ids that the store holds, and those it holds twice. */
  async export(): Promise<ReturnType<typeof storedIds>> {
    const { env, directory } = this.#site;
    const span = ["--from", "1999-01-01", "--to", "2120-01-01"];
    const { stdout } = await RUN(
      process.execPath,
      [this.#program, "export", ...span, "--format", "jsonl"],
      { env: { ...env, LD_PRELOAD: "" }, cwd: directory, maxBuffer: 1e9 },
    );
    return storedIds(stdout);
  }
}
