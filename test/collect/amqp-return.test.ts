/** A collector that returns to its own node of a cluster under load, over links on which the broker's words take a while. */
import assert from "node:assert/strict";
import { once } from "node:events";
import { type AddressInfo, connect, createServer, type Server, type Socket } from "node:net";
import { test } from "node:test";
import {
  publishAll,
  READING_TOPIC,
  readingPayload,
  readUntil,
  skipWithoutBuild,
  startCollect,
} from "../support/collecting.ts";
import { deadlineMs } from "../support/deadline.ts";
import { openPostgres, skipWithoutPostgres } from "../support/postgres.ts";
import { openRabbitmq, skipWithoutRabbitmq } from "../support/rabbitmq.ts";

const DELAY_MS = 100;

/** A way to the broker that can be cut and opened again on the same port. */
class Way {
  readonly #target: number;
  readonly #sockets = new Set<Socket>();
  #server: Server | null = null;
  port = 0;
  used = 0;

  constructor(target: number) {
    this.#target = target;
  }

  async open(): Promise<void> {
    const server = createServer((near) => {
      this.used += 1;
      const far = connect(this.#target, "127.0.0.1");
      const end = () => {
        this.#sockets.delete(near);
        near.destroy();
        far.destroy();
      };
      this.#sockets.add(near);
      near.on("error", end).on("close", end).pipe(far);
      far.on("error", end).on("close", end);
      far.on("data", (bytes) => setTimeout(() => near.destroyed || near.write(bytes), DELAY_MS));
    });
    server.listen(this.port, "127.0.0.1");
    await once(server, "listening");
    this.port = (server.address() as AddressInfo).port;
    this.#server = server;
  }

  cut(): void {
    this.#server?.close();
    for (const socket of this.#sockets) socket.destroy();
  }
}

test("amqp – a collector returns to its own address while it writes, loses nothing and goes on", {
  skip: skipWithoutBuild || skipWithoutPostgres || skipWithoutRabbitmq,
  timeout: deadlineMs(240_000),
}, async (t) => {
  const [postgres, rabbit] = await Promise.all([openPostgres(), openRabbitmq()]);
  t.after(async () => {
    postgres.close();
    await rabbit.close();
  });
  const url = await postgres.createDatabase("amqp");
  const target = new URL(rabbit.amqpUrl).port;
  const ways = [new Way(Number(target)), new Way(Number(target))];
  for (const way of ways) await way.open();
  t.after(() => {
    for (const way of ways) way.cut();
  });
  const from = ways.map(({ port }) => rabbit.amqpUrl.replace(target, `${port}`)).join(",");
  process.env["RECONNECT_SPREAD_S"] = "1";
  t.after(() => delete process.env["RECONNECT_SPREAD_S"]);
  const collect = startCollect(from, url);
  t.after(() => void collect.child.kill("SIGKILL"));
  await collect.logged("connected", 60_000);
  const own = ways.find(({ used }) => used > 0);
  assert.ok(own);
  own.cut();
  const connected = () =>
    Promise.resolve(collect.lines.filter(({ msg }) => msg === "connected").length);
  await readUntil(connected, (count) => count === 2, 60_000);
  await own.open();
  let sent = 0;
  let isBack = false;
  const load = (async () => {
    while (!isBack) {
      const messages = Array.from({ length: 400 }, () => ({
        topic: READING_TOPIC,
        payload: readingPayload(sent++),
      }));
      await publishAll(rabbit.mqttUrl, messages);
    }
  })();
  await collect.logged("returning to the collector's own address", 120_000);
  await readUntil(connected, (count) => count === 3, 60_000);
  isBack = true;
  await load;
  const stored = async () => {
    const [row] = await postgres.query<{ count: number }>(
      url,
      "SELECT count(*)::integer AS count FROM reading",
    );
    return row?.count ?? 0;
  };
  await readUntil(stored, (count) => count === sent, 60_000);
  assert.equal(await collect.end(), 0);
});
