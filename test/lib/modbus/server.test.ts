import assert from "node:assert/strict";
import { once } from "node:events";
import { connect, createServer, type Socket } from "node:net";
import { type TestContext, test } from "node:test";
import { ModbusServer } from "../../../src/lib/modbus/server.ts";
import { RecordingLogger } from "../../support/recording-logger.ts";
import { until } from "../../support/wait-until.ts";

const REQUEST = Buffer.from("000100000006ff0300000002", "hex");
const RESPONSE = "000100000007ff030400000001";

async function serve(t: TestContext, port = 0, more: { readonly silentMs?: number } = {}) {
  const ending = new AbortController();
  const logger = new RecordingLogger();
  const server = new ModbusServer(
    { read: (address, count) => Array.from({ length: count }, (_, i) => address + i), logger },
    { host: "127.0.0.1", port, retryMs: 20, ...more },
  );
  const running = server.run(ending.signal);
  t.after(async () => {
    ending.abort();
    await running;
  });
  return { server, lines: logger.lines };
}
const portOf = (server: ModbusServer) => Number(server.address?.split(":")[1]);
async function open(t: TestContext, port: number): Promise<Socket> {
  const socket = connect(port, "127.0.0.1");
  t.after(() => socket.destroy());
  socket.on("error", () => {});
  await once(socket, "connect");
  return socket;
}
async function ask(socket: Socket, request: Buffer, bytes = RESPONSE.length / 2): Promise<string> {
  let got = Buffer.alloc(0);
  socket.write(request);
  while (got.length < bytes) {
    const [piece] = (await once(socket, "data")) as [Buffer];
    got = Buffer.concat([got, piece]);
  }
  return got.toString("hex");
}

test("modbus server – a request in single bytes and three in one segment are answered in order", async (t) => {
  const { server } = await serve(t);
  await until("the server", () => server.address ?? undefined);
  const socket = await open(t, portOf(server));
  for (const byte of REQUEST.subarray(0, -1)) socket.write(Buffer.from([byte]));
  assert.equal(await ask(socket, REQUEST.subarray(-1)), RESPONSE);
  const three = await ask(
    socket,
    Buffer.concat([REQUEST, REQUEST, REQUEST]),
    (3 * RESPONSE.length) / 2,
  );
  assert.equal(three, RESPONSE.repeat(3));
});

test("modbus server – a bad frame closes its own connection and no other", async (t) => {
  const { server } = await serve(t);
  await until("the server", () => server.address ?? undefined);
  const good = await open(t, portOf(server));
  const bad = await open(t, portOf(server));
  bad.write("GET / HTTP/1.1\r\nHost: plc\r\n\r\n");
  await once(bad, "close");
  assert.equal(await ask(good, REQUEST), RESPONSE);
});

/** docs/modbus.md. */
const CLIENTS_PROMISED = 64;

test("modbus server – the documented number of clients is served at once, one more is refused, and a free slot is reused", async (t) => {
  const { server, lines } = await serve(t);
  await until("the server", () => server.address ?? undefined);
  const clients = await Promise.all(
    Array.from({ length: CLIENTS_PROMISED }, () => open(t, portOf(server))),
  );
  const answers = await Promise.all(clients.map((client) => ask(client, REQUEST)));
  assert.ok(answers.every((answer) => answer === RESPONSE));
  const late = await open(t, portOf(server));
  await once(late, "close");
  assert.ok(lines.some(({ message }) => message.includes("too many modbus clients")));
  clients[0]?.destroy();
  await until("a free place", () => server.clients < CLIENTS_PROMISED || undefined);
  assert.equal(await ask(await open(t, portOf(server)), REQUEST), RESPONSE);
});

test("modbus server – while all slots are taken, the client that has been silent longest makes room, and one that polls stays", async (t) => {
  const { server } = await serve(t, 0, { silentMs: 0 });
  await until("the server", () => server.address ?? undefined);
  const clients: Socket[] = [];
  while (clients.length < CLIENTS_PROMISED) clients.push(await open(t, portOf(server)));
  const [polling, silent] = clients;
  assert.ok(polling !== undefined && silent !== undefined);
  assert.equal(await ask(polling, REQUEST), RESPONSE);
  const closed = once(silent, "close");
  const late = await open(t, portOf(server));
  const refused = once(late, "close").then(() => "refused");
  assert.equal(await Promise.race([ask(late, REQUEST), refused]), RESPONSE);
  await closed;
  assert.equal(await ask(polling, REQUEST), RESPONSE);
  assert.equal(server.clients, CLIENTS_PROMISED);
});

test("modbus server – a port in use is reported once and retried until it is free", async (t) => {
  const other = createServer().listen(0, "127.0.0.1");
  await once(other, "listening");
  const address = other.address();
  assert.ok(address !== null && typeof address === "object");
  const { server, lines } = await serve(t, address.port);
  await until("the failure", () => server.lastError ?? undefined);
  other.close();
  await until("the server", () => server.address ?? undefined);
  assert.equal(server.lastError, null);
  assert.equal(lines.filter(({ message }) => message.includes("cannot listen")).length, 1);
  assert.equal(await ask(await open(t, address.port), REQUEST), RESPONSE);
});
