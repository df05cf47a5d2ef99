import { Counter, Gauge, Histogram, Registry } from "prom-client";
import type { RejectReason } from "../core/record.ts";
import { logLines } from "./log-output.ts";

/** Every metric of the agent, by contract name (contract section 7). Rooms get this object and update their own. */
export function createMetrics() {
  const registry = new Registry();
  const registers = [registry];
  const counter = <L extends string>(name: string, help: string, labelNames: L[] = []) =>
    new Counter({ name: `gateside_${name}`, help, labelNames, registers });
  const gauge = <L extends string>(name: string, help: string, labelNames: L[] = []) =>
    new Gauge({ name: `gateside_${name}`, help, labelNames, registers });
  const histogram = <L extends string>(
    name: string,
    help: string,
    buckets: number[],
    labelNames: L[] = [],
  ) => new Histogram({ name: `gateside_${name}`, help, buckets, labelNames, registers });

  const metrics = {
    registry,
    logLinesDropped: new Counter({
      name: "gateside_log_lines_dropped_total",
      help: "Lines of the log that were lost because nothing took its output.",
      registers,
      collect() {
        this.reset();
        this.inc(logLines.dropped);
      },
    }),
    gatewayUp: gauge("gateway_up", "1 if the last call to the gateway got a response."),
    gatewayRequests: counter("gateway_requests_total", "Calls to the gateway by outcome class.", [
      "outcome",
    ]),
    gatewayBytes: counter("gateway_bytes_total", "Body bytes received from the gateway."),
    gatewaySkew: gauge("gateway_clock_skew_seconds", "Gateway's clock minus the agent's."),
    pollDuration: histogram(
      "poll_duration_seconds",
      "Duration of one read of a sensor's day, from request to commit.",
      [0.01, 0.05, 0.1, 0.5, 1, 5, 15, 60, 300],
    ),
    unchangedDays: counter(
      "unchanged_days_total",
      "Reads that found nothing new and wrote nothing.",
    ),
    readings: counter("readings_total", "Readings stored.", ["kind"]),
    duplicates: counter("duplicate_records_total", "Records that were already stored."),
    rejected: counter("records_rejected_total", "Records not used, by reason.", ["reason"]),
    fieldFaults: counter("field_faults_total", "Fields not used, by reason.", ["reason"]),
    wireOddities: counter("wire_oddities_total", "Tolerated deviations of responses, by kind.", [
      "oddity",
    ]),
    vanished: counter(
      "vanished_records_total",
      "Known records that were missing from a later response.",
    ),
    outbox: gauge(
      "outbox_readings",
      "Undelivered readings of the lane with the longest backlog, without waveforms.",
    ),
    laneOutbox: gauge("lane_outbox_readings", "Undelivered readings, by lane.", ["lane", "uplink"]),
    outboxOldestAge: gauge("outbox_oldest_age_seconds", "Age of the oldest undelivered reading."),
    delivered: counter("delivered_total", "Messages the broker acknowledged.", ["uplink"]),
    laneDelivered: counter("lane_delivered_total", "Messages the broker acknowledged, by lane.", [
      "lane",
      "uplink",
    ]),
    deliveryFailures: counter(
      "delivery_failures_total",
      "Publishes that did not succeed, by reason.",
      ["reason", "uplink"],
    ),
    dropped: counter("dropped_total", "Readings dropped, by reason.", ["reason"]),
    uplinkDropped: counter(
      "uplink_dropped_total",
      "Undelivered readings that an uplink lost, by reason.",
      ["reason", "uplink"],
    ),
    storeDamaged: counter(
      "store_damaged_rows_total",
      "Rows of the store whose text cannot be read, by table: they count as empty.",
      ["table"],
    ),
    uplinkNotSelected: counter(
      "uplink_not_selected_total",
      "Readings that onChange or everyS of an uplink left out.",
      ["uplink"],
    ),
    brokerConnected: gauge("broker_connected", "1 while every MQTT session is up."),
    linkConnected: gauge("link_connected", "1 while this MQTT session is up.", ["link", "uplink"]),
    brokerConnects: counter("broker_connects_total", "MQTT sessions opened.", ["link", "uplink"]),
    freshness: histogram(
      "freshness_seconds",
      "Reading time (gateway clock) to PUBACK of live readings.",
      [0.5, 1, 2, 5, 10, 15, 30, 60, 120, 300, 900, 3600],
      ["uplink"],
    ),
    alarmsActive: gauge("alarms_active", "Active alarms that are not shelved, by severity.", [
      "severity",
      "acknowledged",
    ]),
    alarmFailures: counter(
      "alarm_failures_total",
      "Readings that were stored without their alarms, findings or bands, as a fault of the rules or the store prevented these.",
      ["engine"],
    ),
    findingsActive: gauge("findings_active", "Standing findings, by stage.", ["stage"]),
    certificateExpiry: gauge(
      "certificate_expiry_seconds",
      "Seconds until a certificate ends; `broker` is the broker's, an empty uplink the box itself.",
      ["uplink", "file"],
    ),
    databaseBytes: gauge("database_bytes", "Files of the store, WAL included."),
    storeHeld: gauge(
      "store_held_seconds",
      "How long another program has held the store open; 0 while nobody does.",
    ),
    hoursBytes: gauge("hourly_values_bytes", "Hourly and daily values, approximately."),
    oldestHour: gauge(
      "hourly_values_oldest_hour_seconds",
      "Start of the oldest hourly value, UTC.",
    ),
    oldestDay: gauge("hourly_values_oldest_day_seconds", "Start of the oldest daily value, UTC."),
    keptBytes: gauge("kept_bytes", "Size of the measurements that are kept for years."),
    keptMeasurements: gauge("kept_measurements", "Measurements that are kept for years."),
    diskWrittenBytes: counter("store_written_bytes_total", "Bytes that the store wrote to disk."),
    diskFreeBytes: gauge("disk_free_bytes", "Free space on the store's disk."),
    hoursUntilFull: gauge(
      "buffer_hours_until_full",
      "Hours of outage that the buffer has room for at the recent rate.",
    ),
    commits: counter("store_commits_total", "Transactions committed."),
    commitDuration: histogram(
      "store_commit_seconds",
      "Duration of a commit.",
      [0.001, 0.005, 0.01, 0.05, 0.1, 0.5, 1, 5],
    ),
    commands: counter("commands_total", "Sensor-setting commands, by outcome.", ["outcome"]),
    httpRequests: counter("http_requests_total", "HTTP requests by route and status class.", [
      "route",
      "status",
    ]),
    eventLoopDelay: gauge("event_loop_delay_seconds", "Event-loop delay over the last minute.", [
      "quantile",
    ]),
    residentMemory: gauge("resident_memory_bytes", "Resident memory of the process."),
    buildInfo: gauge("build_info", "Always 1; version and Node version are labels.", [
      "version",
      "node",
    ]),
  };
  // From 0 on, so that an alert rule on an increase sees the first one.
  for (const reason of ["buffer_full", "disk_full"]) metrics.dropped.inc({ reason }, 0);
  for (const reason of REJECT_REASONS) metrics.rejected.inc({ reason }, 0);
  return metrics;
}

const REJECT_REASONS: readonly RejectReason[] = [
  "foreign_record",
  "no_time",
  "time_without_zone",
  "not_an_object",
  "malformed",
  "record_too_large",
  "too_many_members",
  "too_many_values",
  "text_too_long",
  "too_many_samples",
];

export type Metrics = ReturnType<typeof createMetrics>;

/** A counter or gauge for a part that knows nothing about uplinks. */
interface Count<L extends string> {
  inc(labels: Partial<Record<L, string>>, value?: number): void;
  inc(value?: number): void;
}

/** Metrics of one destination. */
export interface UplinkMetrics {
  readonly delivered: Count<never>;
  readonly laneDelivered: Count<"lane">;
  readonly deliveryFailures: Count<"reason">;
  readonly brokerConnects: Count<"link">;
  /** Of the store, whichever uplink found it. */
  readonly storeDamaged: Count<"table">;
  readonly freshness: { observe(value: number): void };
}

/** The same metrics, labelled with the uplink's name. */
export function uplinkMetrics(metrics: Metrics, uplink: string): UplinkMetrics {
  const counting = <L extends string>(counter: Counter<L | "uplink">): Count<L> => ({
    inc(labels?: number | Partial<Record<L, string>>, value?: number) {
      const named: Partial<Record<string, string | number>> =
        typeof labels === "object" ? { ...labels, uplink } : { uplink };
      counter.inc(named, typeof labels === "object" ? value : labels);
    },
  });
  // From 0 on, so that an alert rule on an increase sees the first one.
  for (const reason of ["lost", "oversize"]) metrics.deliveryFailures.inc({ reason, uplink }, 0);
  for (const reason of ["buffer_full", "disk_full"])
    metrics.uplinkDropped.inc({ reason, uplink }, 0);
  metrics.delivered.inc({ uplink }, 0);
  metrics.freshness.zero({ uplink });
  return {
    delivered: counting<never>(metrics.delivered),
    laneDelivered: counting<"lane">(metrics.laneDelivered),
    deliveryFailures: counting<"reason">(metrics.deliveryFailures),
    brokerConnects: counting<"link">(metrics.brokerConnects),
    storeDamaged: metrics.storeDamaged,
    freshness: { observe: (value) => metrics.freshness.observe({ uplink }, value) },
  };
}
