import { createServer, type Server } from "node:http";
import { Counter, Gauge, Histogram, Registry } from "prom-client";

export type CollectMetrics = ReturnType<typeof createCollectMetrics>;

/** Every metric of `gateside collect`. */
export function createCollectMetrics(group: string) {
  const registry = new Registry();
  registry.setDefaultLabels({ group });
  const registers = [registry];
  const counter = <L extends string>(name: string, help: string, labelNames: L[] = []) =>
    new Counter({ name: `gateside_collect_${name}`, help, labelNames, registers });
  const gauge = (name: string, help: string) =>
    new Gauge({ name: `gateside_collect_${name}`, help, registers });
  return {
    registry,
    messages: counter("messages_total", "Messages processed, by type.", ["type"]),
    readings: counter("readings_total", "New readings stored."),
    duplicates: counter("duplicate_readings_total", "Readings that were already stored."),
    waveforms: counter("waveforms_total", "New waveforms stored."),
    events: counter("events_total", "New alarm events stored."),
    rejected: counter("rejected_total", "Messages that could not be used.", ["reason"]),
    ignored: counter("ignored_total", "Messages that need not be stored, by family.", ["family"]),
    sourceUp: gauge("source_up", "1 while the broker is connected."),
    databaseUp: gauge("database_up", "1 while PostgreSQL accepts batches."),
    databaseFailures: counter("database_failures_total", "Failed transactions, by SQLSTATE.", [
      "code",
    ]),
    waiting: gauge("waiting_messages", "Messages received but not yet written."),
    batchSeconds: new Histogram({
      name: "gateside_collect_batch_seconds",
      help: "Duration of one batch, from its start to its acknowledgement.",
      buckets: [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 5, 30],
      registers,
    }),
    partitionsDropped: counter("partitions_dropped_total", "Weekly tables dropped by --keep-days."),
  };
}

/** A request line and its headers; a scraper needs no more time or space. */
const HEADERS_TIMEOUT_MS = 10_000;
const HEADER_BYTES_MAX = 8192;

/** What `/healthz` shows; `database` says why nothing can be written, null if nothing is known against it. */
interface Health {
  readonly broker: boolean;
  readonly database: string | null;
}

/**
 * `/metrics` for Prometheus and `/healthz`, which is 200 while the broker is connected and PostgreSQL accepts batches.
 * Rejects if the port is in use.
 */
export async function serveMetrics(
  { host, port }: { readonly host: string; readonly port: number },
  metrics: CollectMetrics,
  healthOf: () => Health,
): Promise<{ readonly port: number; close(): Promise<void> }> {
  const server = createServer(
    { headersTimeout: HEADERS_TIMEOUT_MS, maxHeaderSize: HEADER_BYTES_MAX },
    (request, response) => {
      request.resume();
      const path = request.url?.split("?")[0];
      if (request.method !== "GET" && request.method !== "HEAD") response.writeHead(405).end();
      else if (path === "/healthz") {
        const health = healthOf();
        const ok = health.broker && health.database === null;
        response
          .writeHead(ok ? 200 : 503, { "content-type": "application/json" })
          .end(`${JSON.stringify({ ok, ...health })}\n`);
      } else if (path === "/metrics")
        void metrics.registry.metrics().then((text) => {
          response.writeHead(200, { "content-type": metrics.registry.contentType }).end(text);
        });
      else response.writeHead(404).end();
    },
  );
  await listening(server, host, port);
  const address = server.address();
  return {
    port: address === null || typeof address === "string" ? port : address.port,
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
}

function listening(server: Server, host: string, port: number): Promise<void> {
  return new Promise((resolve, reject) => {
    server.once("error", (error) => reject(portFailure(error, host, port)));
    server.listen(port, host, () => {
      server.removeAllListeners("error");
      resolve();
    });
  });
}

function portFailure(error: Error, host: string, port: number): Error {
  if (!error.message.includes("EADDRINUSE")) return error;
  return new Error(
    `COLLECT_METRICS: ${host}:${port} is in use by another program, perhaps another collector; set another port (--metrics), as /etc/gateside-collect/collect-2.env does for gateside-collect@2`,
    { cause: error },
  );
}
