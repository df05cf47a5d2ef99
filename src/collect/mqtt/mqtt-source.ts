import { randomBytes } from "node:crypto";
import type { IPublishPacket } from "mqtt-packet";
import type { Runtime } from "../../core/ports.ts";
import { messageOf } from "../../core/thrown.ts";
import { publicBroker } from "../broker-url.ts";
import { ClusterSessions } from "../cluster-sessions.ts";
import { boundedPayload, type Source, type SourceOptions } from "../delivery.ts";
import type { Inbox } from "../inbox.ts";
import { MqttConnection } from "./connection.ts";
import { collectorRefusal } from "./refusal.ts";
import type { SessionSlots } from "./session-slots.ts";

export interface MqttSourceParts extends Runtime {
  readonly inbox: Inbox;
  readonly slots: SessionSlots;
}

/** Interval at which sessions are refreshed, and abandoned ones searched. */
const SLOTS_MS = 3000;
/** A collector may be away for a day. */
const SESSION_EXPIRY_MIN_S = 86_400;
/** A session being emptied has nothing more if nothing arrived for this long, ms. */
const QUIET_MS = 3000;

/** MQTT 5 shared subscription over a session that survives the process. */
export class MqttSource implements Source {
  readonly #parts: MqttSourceParts;
  readonly #options: SourceOptions;
  readonly #sessions: ClusterSessions;
  readonly #share: string;
  readonly #connections = new Set<MqttConnection>();
  #main: MqttConnection | null = null;
  #slot: number | null = null;
  /** Slots of ended processes whose sessions are being emptied here. */
  readonly #adopted = new Set<number>();
  #isPaused = false;
  #hasSeenRetained = false;
  #isRefreshing = false;

  constructor(parts: MqttSourceParts, options: SourceOptions) {
    this.#parts = parts;
    this.#options = options;
    const spreadMs = options.reconnectSpreadS * 1000;
    this.#sessions = new ClusterSessions(options.addresses, parts, { spreadMs });
    this.#share = `$share/${options.group}/${options.topics.filter}`;
  }

  get isConnected(): boolean {
    return this.#main !== null;
  }

  async run(signal: AbortSignal): Promise<void> {
    const { slots } = this.#parts;
    await this.#sessions.run(async (onOpen, ending) => {
      this.#slot = await slots.acquire(this.#slot);
      this.#sessions.beginAtOwn(slots.clientId(this.#slot));
      await this.#session(this.#slot, ending, onOpen);
    }, signal);
    await slots.close();
  }

  flush(): void {
    for (const connection of this.#connections) connection.flush();
  }

  pause(): void {
    this.#isPaused = true;
    for (const connection of this.#connections) connection.pause();
  }

  resume(): void {
    this.#isPaused = false;
    for (const connection of this.#connections) connection.resume();
  }

  /** Until the connection ends or this process may no longer use the session. */
  async #session(slot: number, signal: AbortSignal, onOpen: () => void): Promise<void> {
    const { logger, slots } = this.#parts;
    const clientId = slots.clientId(slot);
    const { connection, closed } = this.#connect(clientId, false);
    let heartbeat: NodeJS.Timeout | undefined;
    const onAbort = () => connection.end(false);
    try {
      const { sessionPresent, lack, sessionExpiryS } = await connection.open();
      if (lack !== null) throw new Error(lack);
      await connection.subscribe([this.#share]);
      this.#main = connection;
      onOpen();
      const broker = publicBroker(this.#sessions.address);
      logger.info({ broker, clientId, sessionPresent, topic: this.#share }, "connected");
      if (sessionExpiryS !== null && sessionExpiryS < SESSION_EXPIRY_MIN_S)
        logger.warn(
          { broker, sessionExpiryS },
          "the broker keeps sessions only this long: what boxes send while no collector is connected is lost after it",
        );
      heartbeat = setInterval(() => void this.#refresh(slot, connection, signal), SLOTS_MS);
      signal.addEventListener("abort", onAbort, { once: true });
      if (signal.aborted) onAbort();
      if (!this.#hasSeenRetained) void this.#readRetained(signal);
      const reason = await closed;
      if (!signal.aborted) throw new Error(reason);
    } catch (error) {
      throw collectorRefusal(error);
    } finally {
      clearInterval(heartbeat);
      signal.removeEventListener("abort", onAbort);
      this.#main = null;
      connection.end(false);
    }
  }

  #connect(clientId: string, isTransient: boolean, onMessage?: () => void, onAck?: () => void) {
    const { inbox, clock } = this.#parts;
    let close: (reason: string) => void = () => {};
    const closed = new Promise<string>((resolve) => {
      close = resolve;
    });
    const connection = new MqttConnection({
      address: this.#sessions.address,
      tls: this.#options.tls,
      clientId,
      isTransient,
      onPublish: (packet: IPublishPacket) => {
        const payload = Buffer.isBuffer(packet.payload)
          ? packet.payload
          : Buffer.from(packet.payload);
        // Not the packet itself: it has properties of up to 16 MB.
        const { messageId, qos } = packet;
        // What is published while a session reads retained messages arrives at the main one, too.
        if (isTransient && !packet.retain) {
          if (messageId !== undefined) connection.acknowledge(messageId);
          return connection.flush();
        }
        onMessage?.();
        inbox.push({
          topic: packet.topic,
          dots: "kept",
          payload: boundedPayload(payload),
          bytes: payload.length,
          receivedMs: clock.now(),
          isRetained: packet.retain,
          session: qos === 1 ? connection : null,
          acknowledge: () => {
            if (messageId !== undefined && qos === 1) connection.acknowledge(messageId);
            onAck?.();
          },
        });
      },
      onClose: (reason) => {
        this.#connections.delete(connection);
        inbox.drop(connection);
        close(reason);
      },
    });
    this.#connections.add(connection);
    if (this.#isPaused) connection.pause();
    return { connection, closed };
  }

  /** PostgreSQL holds the names of sessions: without it, another process may take this one over. */
  async #refresh(slot: number, connection: MqttConnection, signal: AbortSignal): Promise<void> {
    const { slots, logger } = this.#parts;
    // PostgreSQL may be silent for longer than the time between two of these.
    if (this.#isRefreshing) return;
    this.#isRefreshing = true;
    try {
      // After a restart of PostgreSQL the locks are taken again; a process that is late takes another name.
      if (!slots.isHeld && (await slots.acquire(slot)) !== slot) {
        this.#slot = null;
        return connection.end(false);
      }
      for (const orphan of await slots.refresh([slot, ...this.#adopted]))
        void this.#adopt(orphan, signal);
    } catch (error) {
      logger.debug({ error: messageOf(error) }, "sessions not refreshed");
    } finally {
      this.#isRefreshing = false;
    }
  }

  /** Empties the session of a process that has not returned: what the broker kept for it belongs to the group. */
  async #adopt(slot: number, signal: AbortSignal): Promise<void> {
    const { slots, logger } = this.#parts;
    this.#adopted.add(slot);
    let heardAt = performance.now();
    let open = 0;
    let count = 0;
    const { connection, closed } = this.#connect(
      slots.clientId(slot),
      false,
      () => {
        heardAt = performance.now();
        open += 1;
        count += 1;
      },
      () => {
        open -= 1;
      },
    );
    let check: NodeJS.Timeout | undefined;
    const onAbort = () => connection.end(false);
    signal.addEventListener("abort", onAbort, { once: true });
    try {
      const { sessionPresent } = await connection.open();
      // First stop new messages: they go to the live processes.
      if (sessionPresent) await connection.unsubscribe([this.#share]);
      // Only from here on is silence meaningful.
      heardAt = performance.now();
      let isEmpty = false;
      let isAsking = false;
      check = setInterval(() => {
        if (isAsking || open > 0) return;
        if (sessionPresent && performance.now() - heardAt < QUIET_MS) return;
        isAsking = true;
        const before = count;
        // A slow broker may be silent while it still has messages; before its response they would have arrived. Ending
        // the session drops what it holds.
        void connection.roundTrip().then(() => {
          isAsking = false;
          if (count !== before || open > 0) return;
          isEmpty = true;
          connection.end(true);
        });
      }, 200);
      await closed;
      if (!isEmpty) return;
      await slots.remove(slot);
      logger.info(
        { session: slots.clientId(slot), messages: count },
        "drained the session of a stopped collector",
      );
    } catch (error) {
      logger.warn(
        { session: slots.clientId(slot), error: messageOf(error) },
        "the session of a stopped collector is not drained yet",
      );
    } finally {
      clearInterval(check);
      signal.removeEventListener("abort", onAbort);
      connection.end(false);
      this.#adopted.delete(slot);
    }
  }

  /** Shared subscriptions get no retained messages, so earlier states are read once over their own session. */
  async #readRetained(signal: AbortSignal): Promise<void> {
    const { topics } = this.#options;
    const { logger } = this.#parts;
    let heardAt = performance.now();
    let open = 0;
    const { connection, closed } = this.#connect(
      `gsr${randomBytes(8).toString("hex")}`,
      true,
      () => {
        heardAt = performance.now();
        open += 1;
      },
      () => {
        open -= 1;
      },
    );
    let check: NodeJS.Timeout | undefined;
    const onAbort = () => connection.end(true);
    signal.addEventListener("abort", onAbort, { once: true });
    try {
      await connection.open();
      await connection.subscribe([
        topics.filterOf("agent/state"),
        topics.filterOf("agent/stats"),
        topics.filterOf("+/state"),
        topics.filterOf("+/about"),
      ]);
      heardAt = performance.now();
      let isAsking = false;
      check = setInterval(() => {
        if (isAsking || open > 0 || performance.now() - heardAt < QUIET_MS) return;
        isAsking = true;
        const before = heardAt;
        void connection.roundTrip().then(() => {
          isAsking = false;
          if (heardAt !== before || open > 0) return;
          this.#hasSeenRetained = true;
          connection.end(true);
        });
      }, 200);
      await closed;
    } catch (error) {
      logger.warn({ error: messageOf(error) }, "retained states could not be read");
    } finally {
      clearInterval(check);
      signal.removeEventListener("abort", onAbort);
      connection.end(true);
    }
  }
}
