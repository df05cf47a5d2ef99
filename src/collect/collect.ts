import { publicDatabase } from "../core/database-url.ts";
import type { Clock, Logger } from "../core/ports.ts";
import { Backoff } from "../lib/backoff.ts";
import { AmqpSource } from "./amqp/amqp-source.ts";
import { brokerAddress, publicBroker } from "./broker-url.ts";
import { Collector } from "./collector.ts";
import { requirePrimary } from "./database/connection.ts";
import { messageOf } from "./database/failure.ts";
import { SCHEMA_VERSION, SchemaFailure } from "./database/migrate.ts";
import { PoolerFailure } from "./database/pooler.ts";
import { Writer } from "./database/writer.ts";
import type { Source } from "./delivery.ts";
import { Inbox } from "./inbox.ts";
import { type CollectMetrics, createCollectMetrics, serveMetrics } from "./metrics.ts";
import { MqttSource } from "./mqtt/mqtt-source.ts";
import { SessionSlots } from "./mqtt/session-slots.ts";
import type { CollectOptions } from "./options.ts";

interface CollectParts {
  readonly clock: Clock;
  readonly logger: Logger;
  readonly version: string;
}

/** Interval at which an idle writer looks whether its server still accepts writes, ms. */
const PROBE_MS = 5000;
/** Interval at which partitions are created ahead and dropped, ms. */
const MAINTENANCE_MS = 3_600_000;
const RETRY_MIN_MS = 500;
const RETRY_MAX_MS = 15_000;
/** The contract's 10 s for a clean stop: what PostgreSQL has not accepted by then is delivered again, ms. */
const END_MS = 8000;

/** Runs until aborted; 0, or 1 or 2 if the database or the way to it cannot be used as it is. With `migrateOnly` it updates the schema and ends. */
export async function collect(
  options: CollectOptions & { readonly migrateOnly: boolean },
  parts: CollectParts,
  signal: AbortSignal,
): Promise<number> {
  const { logger, clock } = parts;
  const writer = new Writer(options.to, logger);
  const database = publicDatabase(options.to);
  try {
    const code = await openDatabase(writer, database, options.migrateOnly, parts, signal);
    if (code !== null) return code;
    await writer.maintain(({ client, partitions }) => partitions.ahead(client, clock.now()));
    if (options.migrateOnly) {
      logger.info({ database, schema: SCHEMA_VERSION }, "the schema is up to date");
      return 0;
    }
    const metrics = createCollectMetrics(options.group);
    metrics.databaseUp.set(1);
    const inbox = new Inbox();
    const source = createSource(options, inbox, parts);
    inbox.add(source);
    const health = () => ({ broker: source.isConnected, database: writer.problem });
    const server = options.metrics && (await serveMetrics(options.metrics, metrics, health));
    if (server) logger.info({ host: options.metrics?.host, port: server.port }, "serving metrics");
    logger.info(
      {
        version: parts.version,
        from: options.from.map((text) => publicBroker(brokerAddress(text))),
        to: database,
        group: options.group,
        prefix: options.prefix,
        keepDays: options.keepDays,
      },
      "collecting",
    );
    try {
      await run(options, { ...parts, writer, metrics, inbox, source }, signal);
    } finally {
      await server?.close();
    }
    logger.info({}, "ended");
    return 0;
  } finally {
    await writer.close();
  }
}

/** Null once open; else the exit code: aborted first, or waiting would not help. */
async function openDatabase(
  writer: Writer,
  database: string,
  isOnce: boolean,
  { clock, logger }: CollectParts,
  signal: AbortSignal,
): Promise<number | null> {
  const backoff = new Backoff(RETRY_MIN_MS, RETRY_MAX_MS);
  while (!signal.aborted) {
    try {
      await writer.open();
      return null;
    } catch (error) {
      if (error instanceof PoolerFailure) {
        logger.error({ database }, messageOf(error));
        return 2;
      }
      const fields = { database, error: messageOf(error) };
      if (isOnce || error instanceof SchemaFailure) {
        logger.error(fields, "the database cannot be used");
        return 1;
      }
      logger.warn(fields, "PostgreSQL cannot be reached; trying again");
      await clock.sleep(backoff.next(), signal);
    }
  }
  return 0;
}

function createSource(options: CollectOptions, inbox: Inbox, parts: CollectParts): Source {
  const addresses = options.from.map(brokerAddress);
  const { tls, group, prefix } = options;
  if (addresses[0]?.protocol.startsWith("amqp"))
    return new AmqpSource({ ...parts, inbox }, { addresses, tls, group, prefix });
  // Equal processes have the same cluster, prefix and group, in whichever order they name its nodes.
  const cluster = addresses.map(({ host, port }) => `${host}:${port}`).sort();
  const slots = new SessionSlots(options.to, [...cluster, prefix, group].join(" "), group);
  return new MqttSource({ ...parts, inbox, slots }, { addresses, tls, group, prefix });
}

interface Running extends CollectParts {
  readonly writer: Writer;
  readonly metrics: CollectMetrics;
  readonly inbox: Inbox;
  readonly source: Source;
}

/** First the writer ends, then the connection: what was committed is acknowledged. */
async function run(options: CollectOptions, running: Running, signal: AbortSignal): Promise<void> {
  const { inbox, writer, metrics, clock, logger, source } = running;
  const disconnect = new AbortController();
  const flush = () => source.flush();
  const collector = new Collector({ inbox, writer, metrics, clock, logger, flush }, options);
  const gauges = setInterval(() => metrics.sourceUp.set(source.isConnected ? 1 : 0), 1000);
  const receiving = source.run(disconnect.signal);
  const maintaining = Promise.all([maintain(options, running, signal), probe(running, signal)]);
  const onAbort = () => source.pause();
  signal.addEventListener("abort", onAbort, { once: true });
  try {
    const ending = collector.run(signal);
    await Promise.race([ending, aborted(signal).then(() => clock.sleep(END_MS))]);
  } finally {
    clearInterval(gauges);
    signal.removeEventListener("abort", onAbort);
    disconnect.abort();
    await Promise.all([receiving, maintaining]);
  }
}

function aborted(signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    if (signal.aborted) resolve();
    else signal.addEventListener("abort", () => resolve(), { once: true });
  });
}

/** Connects again, and notices a server that has become read-only, also while no message arrives. */
async function probe({ writer, clock }: Running, signal: AbortSignal): Promise<void> {
  while (!signal.aborted) {
    await clock.sleep(PROBE_MS, signal);
    // The writer keeps the reason, and the next batch logs it.
    if (!signal.aborted)
      await writer.maintain(({ client }) => requirePrimary(client)).catch(() => {});
  }
}

/**
 * Future weeks are created and old ones dropped, hourly. A failure costs nothing: a batch creates what it needs itself.
 */
async function maintain(
  { keepDays }: CollectOptions,
  { writer, clock, logger, metrics }: Running,
  signal: AbortSignal,
): Promise<void> {
  while (!signal.aborted) {
    try {
      await writer.maintain(async ({ client, partitions }) => {
        if (keepDays !== null) {
          const dropped = await partitions.drop(client, clock.now(), keepDays);
          metrics.partitionsDropped.inc(dropped);
          if (dropped > 0) logger.info({ dropped, keepDays }, "dropped expired partitions");
        }
        await partitions.ahead(client, clock.now());
      });
    } catch (error) {
      logger.warn(
        { error: messageOf(error) },
        "partition maintenance failed; trying again in an hour",
      );
    }
    await clock.sleep(MAINTENANCE_MS, signal);
  }
}
