import { publicDatabase } from "../core/addresses/database-url.ts";
import type { CollectOptions } from "../core/collect-options.ts";
import type { Logger, Runtime } from "../core/ports.ts";
import { messageOf } from "../core/thrown.ts";
import { aborted } from "../lib/aborted.ts";
import { Backoff } from "../lib/backoff.ts";
import { AmqpSource } from "./amqp/amqp-source.ts";
import { declareOnce } from "./amqp/queue.ts";
import { brokerAddress, publicBroker } from "./broker-url.ts";
import { Collector } from "./collector.ts";
import { sqlState } from "./database/failure.ts";
import { acceptedDays } from "./database/horizon.ts";
import { maintain } from "./database/maintenance.ts";
import { SCHEMA_VERSION, SchemaFailure } from "./database/migrate.ts";
import { PoolerFailure } from "./database/pooler.ts";
import { DatabaseUnfit } from "./database/session-settings.ts";
import { Writer } from "./database/writer.ts";
import type { Source, SourceOptions } from "./delivery.ts";
import { Inbox } from "./inbox.ts";
import { type CollectMetrics, createCollectMetrics, serveMetrics } from "./metrics.ts";
import { MqttSource } from "./mqtt/mqtt-source.ts";
import { SessionSlots } from "./mqtt/session-slots.ts";
import { DEFAULT_TOPIC, SiteTopics } from "./site-topics.ts";

interface CollectParts extends Runtime {
  readonly version: string;
}

const RETRY_MIN_MS = 500;
const RETRY_MAX_MS = 15_000;
/** The contract's 10 s for a clean stop: what PostgreSQL has not accepted by then is delivered again, ms. */
const END_MS = 8000;
/** For connections to close, ms. */
const CLOSE_MS = 1500;

/** Runs until aborted; 0, or 1 or 2 if the database or the way to it cannot be used as it is. With `migrateOnly` it updates the schema and ends. */
export async function collect(
  options: CollectOptions & { readonly migrateOnly: boolean },
  parts: CollectParts,
  signal: AbortSignal,
): Promise<number> {
  const { logger } = parts;
  const writer = new Writer(options.to, logger);
  const database = publicDatabase(options.to);
  try {
    if (options.migrateOnly) {
      const code = await openDatabase(writer, database, true, parts, signal);
      if (code !== null) return code;
      logger.info({ database, schema: SCHEMA_VERSION }, "the schema is up to date");
      return await prepareBroker(options, logger);
    }
    const metrics = createCollectMetrics(options.group);
    const inbox = new Inbox();
    const source = createSource(options, inbox, parts);
    inbox.add(source);
    // Before the database is there: a start that waits for it says so.
    const health = () => ({ broker: source.isConnected, database: writer.problem });
    const server = options.metrics && (await serveMetrics(options.metrics, metrics, health));
    if (server) logger.info({ host: options.metrics?.host, port: server.port }, "serving metrics");
    try {
      const code = await openDatabase(writer, database, false, parts, signal);
      if (code !== null) return code;
      metrics.databaseUp.set(1);
      return await collectUntil(options, { ...parts, writer, metrics, inbox, source }, signal);
    } finally {
      await server?.close();
    }
  } finally {
    await writer.close();
  }
}

async function collectUntil(
  options: CollectOptions,
  running: RunningCollector,
  signal: AbortSignal,
): Promise<number> {
  const { logger, version } = running;
  logger.info(
    {
      version,
      from: options.from.map((text) => publicBroker(brokerAddress(text))),
      to: publicDatabase(options.to),
      group: options.group,
      prefix: options.prefix,
      topic: options.topic,
      keepDays: options.keepDays,
    },
    "collecting",
  );
  try {
    await run(options, running, signal);
  } catch (error) {
    const stack = error instanceof Error ? error.stack : undefined;
    logger.error({ error: messageOf(error), stack }, "ended by a fault of this program");
    return 1;
  }
  logger.info({}, "ended");
  return 0;
}

/** No such role, a wrong password, no such database. */
const LOG_IN_STATES: ReadonlySet<string> = new Set(["28000", "28P01", "3D000"]);
const ROLES_FIRST =
  "; a new server needs deploy/sql/roles.sql first, which creates the database and its log-ins";

/** Null once open, with weeks made ahead; else the exit code: aborted first, or waiting would not help. */
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
      await writer.maintain(({ client, partitions }) => partitions.ahead(client, clock.now()));
      return null;
    } catch (error) {
      if (error instanceof PoolerFailure || error instanceof DatabaseUnfit) {
        logger.error({ database }, messageOf(error));
        return 2;
      }
      const remedy = isOnce && LOG_IN_STATES.has(sqlState(error) ?? "") ? ROLES_FIRST : "";
      const fields = { database, error: `${messageOf(error)}${remedy}` };
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

/** The queue exists before the first box publishes; over MQTT a session begins with the first collector. */
async function prepareBroker(options: CollectOptions, logger: Logger): Promise<number> {
  const chosen = sourceOptions(options);
  if (!isAmqp(chosen)) return 0;
  try {
    const queue = await declareOnce(chosen);
    const binding = chosen.topics.bindingKey;
    logger.info({ queue, binding }, "the queue is declared and bound");
    return 0;
  } catch (error) {
    logger.error({ error: messageOf(error) }, "the queue cannot be declared");
    return 1;
  }
}

function sourceOptions(options: CollectOptions): SourceOptions {
  const { from, tls, group, prefix, topic, reconnectSpreadS } = options;
  const topics = new SiteTopics(prefix, topic);
  return { addresses: from.map(brokerAddress), tls, group, prefix, topics, reconnectSpreadS };
}

function isAmqp({ addresses }: SourceOptions): boolean {
  return addresses[0]?.protocol.startsWith("amqp") ?? false;
}

function createSource(options: CollectOptions, inbox: Inbox, parts: CollectParts): Source {
  const chosen = sourceOptions(options);
  if (isAmqp(chosen)) return new AmqpSource({ ...parts, inbox }, chosen);
  const { addresses, group, prefix } = chosen;
  // Equal processes have the same cluster, prefix and group, in whichever order they name its nodes.
  const cluster = addresses.map(({ host, port }) => `${host}:${port}`).sort();
  const own = options.topic === DEFAULT_TOPIC ? [] : [options.topic];
  const slots = new SessionSlots(options.to, [...cluster, prefix, group, ...own].join(" "), group);
  return new MqttSource({ ...parts, inbox, slots }, chosen);
}

interface RunningCollector extends CollectParts {
  readonly writer: Writer;
  readonly metrics: CollectMetrics;
  readonly inbox: Inbox;
  readonly source: Source;
}

/**
 * Until aborted: first the writer ends, then the connection, so that what was committed is acknowledged. Rejects if one
 * of the loops ends by itself.
 */
async function run(
  options: CollectOptions,
  running: RunningCollector,
  signal: AbortSignal,
): Promise<void> {
  const { inbox, writer, metrics, clock, logger, source } = running;
  const failing = new AbortController();
  const ending = AbortSignal.any([signal, failing.signal]);
  const disconnect = new AbortController();
  const flush = () => source.flush();
  const topics = new SiteTopics(options.prefix, options.topic);
  if (!topics.namesSite)
    logger.warn(
      { topic: options.topic },
      "the topic does not say where the site stands: every box that may publish there is believed whichever site it names",
    );
  const parsing = { topics, keepDays: acceptedDays(options.keepDays) };
  const collector = new Collector({ inbox, writer, metrics, clock, logger, flush }, parsing);
  const gauges = setInterval(() => metrics.sourceUp.set(source.isConnected ? 1 : 0), 1000);
  const onAbort = () => source.pause();
  signal.addEventListener("abort", onAbort, { once: true });
  const collecting = collector.run(ending);
  const loops = {
    "the writer": collecting,
    "the connection to the broker": source.run(disconnect.signal),
    "the maintenance": maintain({ ...running, url: options.to }, options, ending),
  };
  try {
    const stopped = aborted(signal).then(() => Promise.race([collecting, clock.sleep(END_MS)]));
    await Promise.race([stopped, endedAlone(loops, signal)]);
  } finally {
    clearInterval(gauges);
    signal.removeEventListener("abort", onAbort);
    failing.abort();
    disconnect.abort();
    await Promise.race([Promise.allSettled(Object.values(loops)), clock.sleep(CLOSE_MS)]);
  }
}

/** Rejects once a loop fails, or ends although nobody has asked it to. */
function endedAlone(loops: Readonly<Record<string, Promise<void>>>, signal: AbortSignal) {
  return new Promise<never>((_, reject) => {
    for (const [name, loop] of Object.entries(loops))
      loop.then(() => {
        if (!signal.aborted) reject(new Error(`${name} has ended`));
      }, reject);
  });
}
