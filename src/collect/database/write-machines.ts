import type { ClientBase } from "pg";
import type { MachineItem, Received } from "../parse/item.ts";
import { writing } from "./failure.ts";
import { compare } from "./order.ts";

/** Between two notes of a site, whose messages may come thousands a second. */
const HEARD_APART = "interval '10 seconds'";

/** What boxes say of machines: the newest of each, and a row where something differs. A cleared one is gone. */
export async function writeMachines(
  client: ClientBase,
  machines: readonly Received<MachineItem>[],
): Promise<void> {
  // In one order everywhere, so that no two collectors wait for each other; of a machine by its times.
  const sorted = [...machines].sort(
    (a, b) =>
      compare(a.item.site, b.item.site) ||
      a.item.machine - b.item.machine ||
      (a.item.body?.atMs ?? a.receivedMs) - (b.item.body?.atMs ?? b.receivedMs),
  );
  for (const { item, receivedMs } of sorted) {
    const { site, machine, body } = item;
    const received = new Date(receivedMs);
    if (body === null) {
      const cleared = client.query({
        name: "machine-gone",
        text: "UPDATE machine SET gone = true, received = $3 WHERE site = $1 AND machine = $2 AND received <= $3",
        values: [site, machine, received],
      });
      await writing([item], cleared);
      continue;
    }
    const since = body.sinceMs === null ? null : new Date(body.sinceMs);
    const shared = [site, machine, new Date(body.atMs), body.condition, body.reason, since];
    const state = [body.running, body.zone, body.stage, body.acknowledged];
    const counts = [body.alarms, body.warnings, body.findings, body.outlook];
    const newest = client.query({
      name: "machine-newest",
      text: `INSERT INTO machine AS m (site, machine, time, condition, reason, since, running, zone, stage, acknowledged, alarms, warnings, findings, outlook,
         name, area, since_at_least, speed_rpm, changed, received, gone)
       VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17, $18, $19, $20, false)
       ON CONFLICT (site, machine) DO UPDATE SET time = excluded.time, condition = excluded.condition, reason = excluded.reason, since = excluded.since,
         running = excluded.running, zone = excluded.zone, stage = excluded.stage, acknowledged = excluded.acknowledged, alarms = excluded.alarms,
         warnings = excluded.warnings, findings = excluded.findings, outlook = excluded.outlook, name = excluded.name, area = excluded.area,
         since_at_least = excluded.since_at_least, speed_rpm = excluded.speed_rpm, changed = excluded.changed, received = excluded.received, gone = false
       WHERE excluded.time > m.time OR m.time > now()`,
      values: [
        ...shared,
        ...state,
        ...counts,
        body.name,
        body.area,
        body.sinceAtLeast,
        body.speedRpm,
        body.changed,
        received,
      ],
    });
    await writing([item], newest);
    const change = client.query({
      name: "machine-change",
      text: `INSERT INTO machine_change (site, machine, time, condition, reason, since, running, zone, stage, acknowledged, alarms, warnings, findings, outlook, key)
       SELECT $1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15
       WHERE (SELECT c.key FROM machine_change c WHERE c.site = $1 AND c.machine = $2 AND c.time < $3 ORDER BY c.time DESC LIMIT 1) IS DISTINCT FROM $15
       ON CONFLICT DO NOTHING`,
      values: [...shared, ...state, ...counts, body.key],
    });
    await writing([item], change);
  }
}

/** When a message of these sites was last stored. */
export async function noteHeard(client: ClientBase, sites: readonly string[]): Promise<void> {
  if (sites.length === 0) return;
  await client.query({
    name: "heard",
    text: `INSERT INTO heard AS h (site, time) SELECT site, now() FROM unnest($1::text[]) t(site) ORDER BY site
     ON CONFLICT (site) DO UPDATE SET time = excluded.time WHERE h.time < excluded.time - ${HEARD_APART}`,
    values: [sites],
  });
}
