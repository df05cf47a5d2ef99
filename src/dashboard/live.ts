/** Keeps the model live: the browser's event stream, its end and its return, and what must be requested again after a gap. */

import type { ShownStatus } from "../core/agent-status.ts";
import type { ShownReading } from "../core/query/shown.ts";
import type { Api } from "./api.ts";
import { readingAsRead } from "./as-read.ts";
import type { Model } from "./model.ts";
import { Refresh } from "./refresh.ts";
import { SharedStream, type StreamEventName } from "./shared-stream.ts";
import { unitsKept } from "./units-kept.ts";

/** The agent sends its status every 2 s; after this time the stream counts as silent. */
const SILENT_MS = 6_500;
const CHECK_MS = 1_000;
/** Faults can change while their number stays the same. */
const FAULTS_EVERY_MS = 15_000;
const RETRY_MS_MIN = 1_000;
const RETRY_MS_MAX = 15_000;
/** How long a page keeps its stream after it was hidden; a quick look at another tab does not cost a reconnect. */
const HIDDEN_MS = 5_000;
/** How often a hidden page without a stream requests the status for its title. Browsers slow timers of hidden pages further. */
const HIDDEN_STATUS_MS = 15_000;

export class Live {
  readonly #model: Model;
  readonly #stream: SharedStream;
  #heardAt = 0;
  #faultsAt = Number.NEGATIVE_INFINITY;
  #faultCount = -1;
  #retryMs = RETRY_MS_MIN;
  #retryAt = Number.POSITIVE_INFINITY;
  readonly #sensors: Refresh;
  readonly #gaps: Refresh;
  readonly #faults: Refresh;
  /** Where no stream brings it. */
  readonly #status: Refresh;
  /** Identifies the configuration that the sensors belong to. */
  #configuration = "";
  /** Since when the page has been hidden; null while it is visible. */
  #hiddenAt: number | null = null;
  #statusDueAt = Number.NEGATIVE_INFINITY;
  /** Readings were missed while there was no stream, or nobody looked. */
  #hasMissed = false;
  #isWanted = false;

  constructor(api: Api, model: Model) {
    this.#model = model;
    this.#sensors = new Refresh(
      async (asking) => {
        const sensors = await api.sensors(asking);
        return () => model.takeSensors(sensors);
      },
      () => {
        this.#hasMissed = true;
      },
    );
    // The page already says that it is not live, or will within seconds.
    const failed = () => {
      this.#faultCount = -1;
    };
    this.#stream = new SharedStream({
      onEvent: (name, data) => this.#onEvent(name, data),
      onBegin: () => {
        this.#hasMissed = true;
      },
      onLost: (isClosed) => this.#lost(isClosed),
    });
    this.#gaps = new Refresh(async (asking) => {
      const gaps = await api.gaps(asking);
      return () => model.takeGaps(gaps);
    }, failed);
    this.#faults = new Refresh(async (asking) => {
      const faults = await api.faults(asking);
      return () => model.takeFaults(faults);
    }, failed);
    this.#status = new Refresh(
      async (asking) => {
        const status = await api.status(asking);
        return () => {
          if (document.hidden && !this.#stream.isOpen) this.#onStatus(status);
        };
      },
      () => {
        if (!this.#stream.isOpen) model.takeLive("late");
      },
    );
  }

  start(): void {
    // A tab that is opened in the background gets its stream when it is first shown.
    if (document.hidden) this.#hiddenAt = Number.NEGATIVE_INFINITY;
    this.#check();
    setInterval(() => this.#check(), CHECK_MS);
    // A laptop that wakes up must not wait for a timer that was suspended as well.
    document.addEventListener("visibilitychange", () => this.#check());
    // The browser may keep a page that was left, to show it again with the back button.
    window.addEventListener("pagehide", () => this.#release());
    window.addEventListener("pageshow", () => this.#check());
    window.addEventListener("online", () => {
      this.#release();
      this.#check();
    });
  }

  #onEvent(name: StreamEventName, data: string): void {
    this.#heard();
    switch (name) {
      case "status":
        return this.#onStatus(parsed<ShownStatus>(data));
      case "reading":
        return this.#model.takeReading(readingAsRead(parsed<ShownReading>(data), unitsKept()));
      case "gap":
        return this.#ask(this.#gaps);
      case "skipped":
        this.#model.takeSkipped(parsed<{ count: number | null }>(data).count ?? 0);
        this.#ask(this.#sensors);
        return this.#ask(this.#gaps);
    }
  }

  /** Nobody looks at a hidden page: its lists are asked for when it is shown. */
  #ask(list: Refresh): void {
    if (document.hidden) this.#hasMissed = true;
    else list.change();
  }

  #onStatus(status: ShownStatus): void {
    const wasLive = this.#model.isLive;
    this.#heard();
    this.#model.takeStatus(status);
    this.#model.takeLive("live");
    this.#retryMs = RETRY_MS_MIN;
    if (status.configuration !== this.#configuration) this.#hasMissed = true;
    this.#configuration = status.configuration;
    if (document.hidden) {
      this.#hasMissed ||= !this.#stream.isOpen || !wasLive;
      return;
    }
    // Requests what happened while nobody listened, and sensors that were added or changed while the agent ran.
    const isMissed = !wasLive || this.#hasMissed;
    this.#hasMissed = false;
    if (isMissed) this.#sensors.change();
    const isDue =
      status.faults !== this.#faultCount || performance.now() - this.#faultsAt > FAULTS_EVERY_MS;
    if (isDue) {
      this.#faultCount = status.faults;
      this.#faultsAt = performance.now();
      this.#faults.change();
    }
    // Readings that are dropped while the broker is unreachable cause no event until the gap is published there.
    if (isMissed || isDue) this.#gaps.change();
  }

  #heard(): void {
    this.#heardAt = performance.now();
  }

  #lost(isClosed: boolean): void {
    if (this.#model.live.state === "live") this.#model.takeLive("late");
    if (isClosed) this.#retryLater();
  }

  #retryLater(): void {
    if (this.#retryAt !== Number.POSITIVE_INFINITY) return;
    this.#retryAt = performance.now() + this.#retryMs;
    this.#retryMs = Math.min(RETRY_MS_MAX, this.#retryMs * 2);
    // Shows whether we are signed out; every other failure is waited out.
    this.#status.change();
  }

  #check(): void {
    const now = performance.now();
    if (document.hidden) return this.#checkHidden(now);
    const wasHidden = this.#hiddenAt !== null;
    this.#hiddenAt = null;
    if (wasHidden || !this.#stream.isOpen) this.#begin(now);
    if (now >= this.#retryAt) {
      this.#retryAt = Number.POSITIVE_INFINITY;
      this.#heardAt = now;
      return this.#stream.reopen();
    }
    if (now - this.#heardAt <= SILENT_MS) return;
    // A stream that is open but silent, as behind a proxy that died.
    this.#model.takeLive("late");
    if (this.#retryAt === Number.POSITIVE_INFINITY) this.#retryLater();
  }

  #begin(now: number): void {
    if (!this.#isWanted) this.#heardAt = now;
    this.#isWanted = true;
    this.#stream.want();
  }

  #release(): void {
    this.#isWanted = false;
    this.#stream.release();
    this.#hasMissed = true;
  }

  #checkHidden(now: number): void {
    this.#hiddenAt ??= now;
    if (now - this.#hiddenAt < HIDDEN_MS) return;
    if (this.#isWanted) this.#release();
    // Another page of this browser passes on what comes.
    if (this.#stream.isOpen || now < this.#statusDueAt) return;
    this.#statusDueAt = now + HIDDEN_STATUS_MS;
    this.#status.change();
  }
}

function parsed<T>(data: string): T {
  return JSON.parse(data);
}
