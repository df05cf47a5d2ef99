import type { LinkState } from "../../core/agent-status.ts";
import type { SessionLink, Will } from "../../core/delivery/link.ts";
import { mayHeal } from "../../core/failure.ts";
import { Backoff } from "../../lib/backoff.ts";
import { CommandGate } from "../../lib/command-gate.ts";
import { LogPace } from "../../lib/log-pace.ts";
import { TokenBucket } from "../../lib/token-bucket.ts";
import { PendingAlarmChanges } from "./alarms.ts";
import { BdSeq } from "./bd-seq.ts";
import { Devices } from "./devices.ts";
import { SparkplugInbox, Wake } from "./inbox.ts";
import { LeasedReadings } from "./leased-readings.ts";
import { SETTINGS_OUTCOME } from "./metric-shape.ts";
import { NodeReport } from "./node-metrics.ts";
import type { SparkplugNodeOptions, SparkplugNodeParts } from "./node-parts.ts";
import { PrimaryHost } from "./primary-host.ts";
import { ProofWindow, type SparkplugLane } from "./proof-window.ts";
import { NodeConnection, Sender } from "./sender.ts";
import { NodeSession, will } from "./session.ts";
import { type RunEnd, SessionRunner } from "./session-runner.ts";
import { Settlements } from "./settlements.ts";
import { NodeTopics } from "./topics.ts";

/** At shutdown (contract section 2: 10 s in all): for the last proof and NDEATH. */
const LEAVE_MAX_MS = 3_000;
const HOST_HOLD_MS = 30_000;
/**
 * With several servers: how long a session waits for its host before the next server is tried, at most. It doubles, since a host
 * that is offline everywhere must not cost a fleet a new session every few seconds.
 */
const HOST_WAIT_MIN_MS = 5_000;
const HOST_WAIT_MAX_MS = 60_000;
/** All clients reconnect at once to a broker that was unreachable; QoS 0 data would be sent before hosts are back. */
const RECONNECT_GRACE_MS = 3_000;
const HOLD_ENTRIES_MAX = 2_000;
const LANES: readonly SparkplugLane[] = ["sparkplug", "sparkplugWaveform"];
/** Hosts that ask again and again get births this often, ms. */
const REBIRTH_MS = 5_000;

/** One CONNECT and the session that may follow it: its bdSeq, and messages that arrive before it is in use. */
interface SparkplugAttempt {
  readonly session: NodeSession;
  readonly connection: NodeConnection;
  readonly inbox: SparkplugInbox;
  readonly wake: Wake;
}

/** The Sparkplug B edge node: one session of its link after the other, each with its own will and bdSeq. */
export class SparkplugNode {
  readonly #parts: SparkplugNodeParts;
  readonly #options: SparkplugNodeOptions;
  readonly #topics: NodeTopics;
  readonly #host: PrimaryHost | null;
  readonly #hostWait: Backoff;
  readonly #devices: Devices;
  readonly #window: ProofWindow;
  readonly #pace: TokenBucket;
  readonly #link: SessionLink;
  readonly #settlements: Settlements;
  #runner: SessionRunner | null = null;
  #attempt: SparkplugAttempt | null = null;
  readonly #logPace: LogPace;
  readonly #gates: { readonly ncmd: CommandGate; readonly dcmd: CommandGate };
  readonly #bdSeq: BdSeq;
  #wasLost = false;
  readonly #pendingAlarms = new PendingAlarmChanges();

  constructor(parts: SparkplugNodeParts, options: SparkplugNodeOptions) {
    this.#parts = parts;
    this.#options = options;
    this.#logPace = new LogPace(parts.clock);
    this.#bdSeq = new BdSeq(parts);
    const gate = () => new CommandGate(parts.clock, parts.logger);
    this.#gates = { ncmd: gate(), dcmd: gate() };
    this.#topics = new NodeTopics(options.group, options.node);
    this.#host = options.hostId === null ? null : new PrimaryHost(options.hostId, parts.clock);
    const hostWaitMs = options.hostWaitMinMs ?? HOST_WAIT_MIN_MS;
    this.#hostWait = new Backoff(hostWaitMs, HOST_WAIT_MAX_MS);
    this.#devices = new Devices(parts, {
      site: options.site,
      ...(options.select === undefined ? {} : { select: options.select }),
      hasWaveforms: options.waveforms !== "never",
      hasCommands: parts.onDeviceCommand !== undefined,
    });
    const holdMs = this.#host === null ? 0 : (options.hostHoldMs ?? HOST_HOLD_MS);
    this.#settlements = new Settlements(parts);
    this.#window = new ProofWindow(holdMs, HOLD_ENTRIES_MAX);
    this.#pace = new TokenBucket(parts.clock, options.backlogRatePerS);
    this.#link = parts.createLink({
      will: (isUnused) => this.#begin(isUnused),
      subscriptions: this.#topics.filters(options.hostId).map((topic) => ({ topic, qos: 1 })),
      hooks: {
        onConnectSent: () => this.#bdSeq.save(),
        onMessage: (message) => this.#attempt?.inbox.receive(message),
        onDisconnected: () => this.#attempt?.connection.close(),
      },
    });
  }

  get state(): LinkState {
    return {
      ...this.#link.state,
      hostOnline: this.#host === null ? null : this.#host.isOnline,
      hostDoubt: this.#host?.doubt ?? null,
    };
  }
  /** Readings and measurements proven to have reached the broker, since the start. */
  get delivered(): number {
    return this.#settlements.delivered;
  }
  /** Publishes that did not succeed, by reason. */
  get failures(): Readonly<Record<string, number>> {
    return this.#settlements.failures;
  }

  /** Runs until aborted; then NDEATH and DISCONNECT are sent and everything proven is settled. */
  async run(signal: AbortSignal): Promise<void> {
    const { outbox } = this.#parts;
    const running = this.#link.run(new AbortController().signal);
    const unfollowMachines = this.#parts.machines?.follow();
    const saving = this.#bdSeq.saveOwed(signal);
    const unfollow = this.#parts.alarms?.onChange((sensor, stand) => {
      this.#pendingAlarms.add(sensor, stand);
      this.#attempt?.wake.ring();
    });
    while (await this.#link.ready(signal)) {
      const attempt = this.#attempt;
      if (attempt === null) break;
      for (const lane of LANES) outbox.unpark(lane);
      const end = await this.#session(attempt, signal);
      this.#window.lose(end === "host_offline");
      if (signal.aborted) await this.#settlements.recorded();
      for (const lane of LANES) outbox.release(lane);
    }
    unfollow?.();
    unfollowMachines?.();
    await this.#link.close();
    await Promise.all([running, saving]);
  }

  /** Before a CONNECT: everything for the session that may follow is created before its will is sent. */
  #begin(isUnused: boolean): Will {
    const bdSeq = this.#bdSeq.next(isUnused);
    const wake = new Wake();
    this.#host?.forget(this.#link.state.url);
    this.#attempt = {
      session: new NodeSession(this.#topics, bdSeq),
      connection: new NodeConnection(this.#link),
      inbox: this.#createInbox(wake),
      wake,
    };
    return { ...will(this.#topics, bdSeq, this.#parts.clock.now()), qos: 1, retain: false };
  }

  async #session(attempt: SparkplugAttempt, signal: AbortSignal): Promise<RunEnd> {
    const { logger } = this.#parts;
    const { connection, session } = attempt;
    const runner = this.#createRunner(attempt);
    this.#runner = runner;
    const stopCutting = cutAfterAbort(connection, signal);
    const end = await runner.run(signal).catch((err: unknown) => {
      if (!mayHeal(err)) throw err;
      logger.error({ err, link: "sparkplug" }, "the store cannot be read; the session ends");
      connection.cut("the store cannot be read");
      return "lost" as const;
    });
    stopCutting();
    this.#wasLost = end === "lost";
    this.#runner = null;
    if (end === "host_offline") {
      logger.info(
        { link: "sparkplug", bdSeq: session.bdSeq },
        "the primary host is offline; readings wait",
      );
    }
    return end;
  }

  #createInbox(wake: Wake): SparkplugInbox {
    const { logger, onDeviceCommand, clock } = this.#parts;
    const onSettings = (id: string, settings: Readonly<Record<string, number>>) => {
      const device = this.#devices.byId(id);
      if (!device || !onDeviceCommand) return;
      onDeviceCommand(device.code, settings)
        .catch((err: unknown) => {
          logger.error({ err, sensor: device.code }, "a Sparkplug command could not be executed");
          return "failed";
        })
        .then((outcome) => {
          this.#runner?.notify(device, {
            name: SETTINGS_OUTCOME,
            type: "String",
            timeMs: clock.now(),
            value: outcome,
          });
        })
        .catch((err: unknown) =>
          logger.error({ err }, "the result of a command could not be published"),
        );
    };
    return new SparkplugInbox({
      pace: this.#logPace,
      gates: this.#gates,
      topics: this.#topics,
      host: this.#host,
      logger,
      onNews: () => wake.ring(),
      onSettings: onDeviceCommand ? onSettings : null,
    });
  }

  #createRunner({ session, connection, inbox, wake }: SparkplugAttempt): SessionRunner {
    const { outbox, waveforms, clock, logger, nodeValues } = this.#parts;
    const devices = this.#devices;
    const window = this.#window;
    const settlements = this.#settlements;
    const sender = new Sender({
      session,
      connection,
      devices,
      waveforms,
      now: () => clock.now(),
      isHeld: () => inbox.isRebirthDue || inbox.hasHostLeft,
      onSent: (lane, entries) => window.add(lane, entries, clock.monotonic()),
      onOversize: (what, lane, entries) => settlements.oversize(what, lane, entries),
      onDamaged: (entry) => settlements.damaged(entry),
    });
    const leased = new LeasedReadings(
      { outbox, sender, devices, window, clock, settlements },
      {
        waveforms: this.#options.waveforms,
        historyBatch: this.#options.historyBatch ?? Number.POSITIVE_INFINITY,
      },
    );
    return new SessionRunner(
      {
        session,
        connection,
        sender,
        inbox,
        wake,
        devices,
        window,
        leased,
        report: new NodeReport(),
        pendingAlarms: this.#pendingAlarms,
        machines: this.#parts.machines ?? null,
        nodeValues,
        outbox,
        pace: this.#pace,
        clock,
        settlements,
        onBorn: () => {
          this.#hostWait.reset();
          const line = this.#logPace.next(`births ${session.bdSeq}`);
          if (line !== null)
            logger.info(
              { link: "sparkplug", bdSeq: session.bdSeq, ...line },
              "Sparkplug births published",
            );
        },
      },
      {
        windowMax: this.#options.inflight,
        rebirthMs: this.#options.rebirthMs ?? REBIRTH_MS,
        dataAfterMs:
          this.#wasLost && this.#host === null
            ? (this.#options.reconnectGraceMs ?? RECONNECT_GRACE_MS)
            : 0,
        hostWaitMs: this.#nextHostWaitMs(),
      },
    );
  }

  #nextHostWaitMs(): number | null {
    const { addresses = [] } = this.#link.state;
    return this.#host === null || addresses.length < 2 ? null : this.#hostWait.next();
  }
}

/**
 * Once aborted, a broker that does not respond gets little time; then the connection is cut and its will is published.
 */
function cutAfterAbort(connection: NodeConnection, signal: AbortSignal): () => void {
  let timer: NodeJS.Timeout | undefined;
  const start = () => {
    timer = setTimeout(() => connection.cut("stopped"), LEAVE_MAX_MS);
  };
  if (signal.aborted) start();
  else signal.addEventListener("abort", start, { once: true });
  return () => {
    signal.removeEventListener("abort", start);
    clearTimeout(timer);
  };
}
