import { createHash } from "node:crypto";
import type { ClientBase } from "pg";
import { KEPT_BYTES, type PendingDelivery } from "../delivery.ts";
import type { EventItem, GapItem, RejectedItem, WaveformItem } from "../parse/item.ts";
import { instantOf, optionalNumber, optionalText } from "../parse/members.ts";
import { writing } from "./failure.ts";
import { compare } from "./order.ts";

/** The newest stay: so many of each site, lest one of them displace all others, and in total, at most 200 MB. */
const REJECTED_SITE_MAX = 1000;
const REJECTED_MAX = 50_000;
const TOPIC_LENGTH_MAX = 1000;
/** As long as names may be: an index cannot hold much more. */
const SITE_BYTES_MAX = 512;

/** Everything without a column. */
function rest(body: Readonly<Record<string, unknown>>, columns: readonly string[]): string | null {
  const own = Object.entries(body).filter(([name]) => !columns.includes(name));
  return own.length === 0 ? null : JSON.stringify(Object.fromEntries(own));
}

/** One row each: they are large, so the statement costs nothing in comparison. Returns how many were new. */
export async function writeWaveforms(
  client: ClientBase,
  items: readonly WaveformItem[],
): Promise<number> {
  const sorted = [...items].sort((a, b) => compare(waveformKey(a), waveformKey(b)));
  let stored = 0;
  for (const item of sorted) {
    const insert = client.query({
      name: "waveform",
      text: `INSERT INTO waveform (time, id, site, sensor, channel, axis, unit, sample_rate, samples, recording_reason, data)
       VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11) ON CONFLICT DO NOTHING`,
      values: [
        new Date(item.timeMs),
        item.id,
        item.site,
        item.sensor,
        item.channel,
        item.axis,
        item.unit,
        item.sampleRate,
        item.data.length / 4,
        item.recordingReason,
        item.data,
      ],
    });
    stored += (await writing([item], insert)).rowCount ?? 0;
  }
  return stored;
}

function waveformKey({ site, sensor, timeMs, channel, id }: WaveformItem): string {
  return `${site}\0${sensor}\0${timeMs}\0${channel}\0${id}`;
}

const eventKey = ({ site, id }: EventItem) => `${site}\0${id}`;

const EVENT_COLUMNS = [
  "v",
  "id",
  "site",
  "sensor",
  "kind",
  "value",
  "alarm",
  "severity",
  "state",
  "time",
  "limit",
  "hysteresis",
  "measured",
  "unit",
  "readingId",
  "raised",
  "worst",
  "acknowledged",
  "text",
  "historical",
] as const;

/** Transitions of alarms (plant section 11), each once. Returns how many were new. */
export async function writeEvents(
  client: ClientBase,
  items: readonly EventItem[],
): Promise<number> {
  const sorted = [...items].sort((a, b) => compare(eventKey(a), eventKey(b)));
  let stored = 0;
  for (const item of sorted) {
    const { body, id, site, timeMs } = item;
    const json = (name: string) =>
      body[name] === undefined || body[name] === null ? null : JSON.stringify(body[name]);
    const insert = client.query({
      name: "event",
      text: `INSERT INTO alarm_event (time, id, site, sensor, kind, value, alarm, severity, state, "limit", hysteresis, measured, unit,
         reading_id, raised, worst, acknowledged, text, historical, more)
       VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17, $18, $19, $20) ON CONFLICT DO NOTHING`,
      values: [
        new Date(timeMs),
        id,
        site,
        optionalText(body, "sensor"),
        optionalText(body, "kind"),
        optionalText(body, "value"),
        optionalText(body, "alarm"),
        optionalText(body, "severity"),
        optionalText(body, "state"),
        // A contact's limit is not a number; it stays in `more`.
        typeof body["limit"] === "number" ? body["limit"] : null,
        typeof body["hysteresis"] === "number" ? body["hysteresis"] : null,
        typeof body["measured"] === "number" ? body["measured"] : null,
        optionalText(body, "unit"),
        optionalText(body, "readingId"),
        instantOf(body["raised"]),
        json("worst"),
        json("acknowledged"),
        typeof body["text"] === "string" ? body["text"] : null,
        body["historical"] === true,
        rest(
          body,
          EVENT_COLUMNS.filter(
            (name) =>
              !["limit", "hysteresis", "measured"].includes(name) ||
              typeof body[name] === "number" ||
              body[name] === null,
          ),
        ),
      ],
    });
    stored += (await writing([item], insert)).rowCount ?? 0;
  }
  return stored;
}

/** Readings that a box dropped. A record has no id: the same content is the same gap. Returns how many were new. */
export async function writeGaps(client: ClientBase, items: readonly GapItem[]): Promise<number> {
  const hashed = items.map((item) => ({
    item,
    hash: createHash("md5")
      .update(JSON.stringify([item.site, item.body]))
      .digest("hex"),
  }));
  let stored = 0;
  for (const { item, hash } of hashed.sort((a, b) => compare(a.hash, b.hash))) {
    const { site, body } = item;
    const insert = client.query({
      name: "gap",
      text: `INSERT INTO gap (hash, site, sensor, kind, "from", "to", count, reason, uplink, received)
       VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, now()) ON CONFLICT (hash) DO NOTHING`,
      values: [
        hash,
        site,
        optionalText(body, "sensor"),
        optionalText(body, "kind"),
        instantOf(body["from"]),
        instantOf(body["to"]),
        optionalNumber(body, "count"),
        optionalText(body, "reason"),
        optionalText(body, "uplink"),
      ],
    });
    stored += (await writing([item], insert)).rowCount ?? 0;
  }
  return stored;
}

export interface Rejection {
  readonly delivery: PendingDelivery;
  readonly item: RejectedItem;
}

/** Keeps unusable messages, truncated to their first bytes, and only the newest of them. */
export async function writeRejected(
  client: ClientBase,
  rejections: readonly Rejection[],
): Promise<void> {
  if (rejections.length === 0) return;
  const sites = rejections.map(({ item }) => storable(cutBytes(item.site ?? "", SITE_BYTES_MAX)));
  const insert = client.query(
    `INSERT INTO rejected (received, topic, reason, detail, bytes, payload, site)
     SELECT * FROM unnest($1::timestamptz[], $2::text[], $3::text[], $4::text[], $5::bigint[], $6::bytea[], $7::text[])`,
    [
      rejections.map(({ delivery }) => new Date(delivery.receivedMs)),
      rejections.map(({ delivery }) => storable(delivery.topic.slice(0, TOPIC_LENGTH_MAX))),
      rejections.map(({ item }) => item.reason),
      rejections.map(({ item }) => storable(item.detail)),
      rejections.map(({ delivery }) => delivery.bytes),
      rejections.map(({ delivery }) => delivery.payload.subarray(0, KEPT_BYTES)),
      sites,
    ],
  );
  await writing(
    rejections.map(({ item }) => item),
    insert,
  );
  // Numbers have gaps where a transaction failed, so rows are counted. What another collector deletes at the same time
  // is left to it.
  await client.query(
    `DELETE FROM rejected WHERE number IN (
       SELECT r.number FROM unnest($1::text[]) AS own(site)
       CROSS JOIN LATERAL (SELECT x.number FROM rejected x WHERE x.site = own.site ORDER BY x.number DESC OFFSET ${REJECTED_SITE_MAX} LIMIT 1) first_out
       JOIN rejected r ON r.site = own.site AND r.number <= first_out.number
       FOR UPDATE OF r SKIP LOCKED)`,
    [[...new Set(sites)]],
  );
  await client.query(
    `DELETE FROM rejected WHERE number IN (
       SELECT number FROM rejected WHERE number <= (SELECT number FROM rejected ORDER BY number DESC OFFSET ${REJECTED_MAX} LIMIT 1)
       FOR UPDATE SKIP LOCKED)`,
  );
}

function cutBytes(text: string, bytesMax: number): string {
  const bytes = Buffer.from(text);
  if (bytes.length <= bytesMax) return text;
  // Without what was cut in its middle.
  return bytes.toString("utf8", 0, bytesMax).replace(/\uFFFD+$/, "");
}

/** PostgreSQL stores no U+0000 in a text, and halves of surrogate pairs have no UTF-8 form. */
function storable(text: string): string {
  return text.replace(/\0|\p{Surrogate}/gu, "\ufffd");
}
