/** The Modbus client against a device that misbehaves on the wire. */
import assert from "node:assert/strict";
import { once } from "node:events";
import { type AddressInfo, createServer, type Socket } from "node:net";
import { type TestContext, test } from "node:test";
import type { ModbusStateRead } from "../../../src/core/sensor.ts";
import { ModbusFailure, ModbusStates } from "../../../src/features/nodes/modbus-states.ts";
import { startRegisters } from "../../support/registers.ts";

const NEVER = new AbortController().signal;
const REQUEST_BYTES = 12;

const readOf = (url: string, ...addresses: number[]): ModbusStateRead => ({
  via: "modbus",
  url,
  registers: addresses.map((address) => ({ address, type: "uint16", value: `v${address}` })),
});

function client(t: TestContext): ModbusStates {
  const states = new ModbusStates({ connectMs: 5_000, answerMs: 200 });
  t.after(() => states.close());
  return states;
}

/** A device that answers every request with what `answer` makes of it. */
async function device(t: TestContext, answer: (request: Buffer, socket: Socket) => void) {
  const sockets = new Set<Socket>();
  const server = createServer((socket) => {
    sockets.add(socket);
    socket.on("error", () => {});
    let got = Buffer.alloc(0);
    socket.on("data", (piece) => {
      got = Buffer.concat([got, piece]);
      while (got.length >= REQUEST_BYTES) {
        answer(got.subarray(0, REQUEST_BYTES), socket);
        got = got.subarray(REQUEST_BYTES);
      }
    });
  }).listen(0, "127.0.0.1");
  await once(server, "listening");
  t.after(() => {
    for (const socket of sockets) socket.destroy();
    server.close();
  });
  return { url: `tcp://127.0.0.1:${(server.address() as AddressInfo).port}`, sockets };
}

/** The answer to a request for one register; `bytes` may promise more than follows. */
function answerTo(request: Buffer, word: number, promisedBytes = 2): Buffer {
  const answer = Buffer.alloc(11);
  request.copy(answer, 0, 0, 2);
  answer.writeUInt16BE(3 + promisedBytes, 4);
  answer.writeUInt8(request.readUInt8(6), 6);
  answer.writeUInt8(request.readUInt8(7), 7);
  answer.writeUInt8(promisedBytes, 8);
  answer.writeUInt16BE(word, 9);
  return answer;
}

test("modbus states – an exception concerns only these registers, not the device, and the connection stays open", async (t) => {
  const { url } = await startRegisters(t, new Map([[10, 357]]));
  const states = client(t);
  await assert.rejects(states.read(readOf(url, 99), NEVER), (error) => {
    assert.ok(error instanceof ModbusFailure);
    assert.equal(error.isDeviceAway, false);
    assert.equal(error.exception, 2);
    assert.match(error.message, /exception 2: it has no registers at these addresses/);
    return true;
  });
  assert.deepEqual((await states.read(readOf(url, 10), NEVER)).values, { v10: 357 });
  // All or nothing: what does answer is no half state.
  await assert.rejects(states.read(readOf(url, 10, 99), NEVER), /exception 2/);
});

test("modbus states – a device that stopped responding is reported as away, and read again once it is back", async (t) => {
  const words = new Map([[10, 1]]);
  const first = await startRegisters(t, words);
  const states = client(t);
  const read = readOf(first.url, 10);
  assert.deepEqual((await states.read(read, NEVER)).values, { v10: 1 });
  await first.close();
  await assert.rejects(
    states.read(read, NEVER),
    (error) => error instanceof ModbusFailure && error.isDeviceAway,
  );
  words.set(10, 2);
  await startRegisters(t, words, Number(new URL(first.url).port));
  assert.deepEqual((await states.read(read, NEVER)).values, { v10: 2 });
});

test("modbus states – an incomplete response, one with a wrong length, one of another function, and none at all are failures, never values", async (t) => {
  const answers: ((request: Buffer, socket: Socket) => void)[] = [
    (request, socket) => socket.end(answerTo(request, 357).subarray(0, 10)),
    (request, socket) => socket.write(answerTo(request, 357).subarray(0, 10)),
    (request, socket) => socket.write(answerTo(request, 357, 4)),
    (request, socket) => {
      const other = answerTo(request, 357);
      other.writeUInt8(4, 7);
      socket.write(other);
    },
    () => {},
    (_, socket) => socket.write(Buffer.from("HTTP/1.1 400 Bad Request\r\n\r\n")),
  ];
  for (const answer of answers) {
    const { url } = await device(t, answer);
    await assert.rejects(
      client(t).read(readOf(url, 10), NEVER),
      (error) => error instanceof ModbusFailure && (error.isDeviceAway || error.isSilent),
      answer.toString(),
    );
  }
});

test("modbus states – a late response is never taken for the response to the next request", async (t) => {
  const late: (() => void)[] = [];
  let asked = 0;
  const { url } = await device(t, (request, socket) => {
    asked += 1;
    const answer = answerTo(Buffer.from(request), asked);
    if (asked === 1) late.push(() => socket.write(answer));
    else {
      for (const send of late.splice(0)) send();
      socket.write(answer);
    }
  });
  const states = client(t);
  await assert.rejects(states.read(readOf(url, 10), NEVER), ModbusFailure);
  assert.deepEqual((await states.read(readOf(url, 10), NEVER)).values, { v10: 2 });
});

test("modbus states – an idle connection that the device has closed only costs a new one", async (t) => {
  const { url, sockets } = await device(t, (request, socket) => {
    socket.write(answerTo(request, 7));
  });
  const states = client(t);
  await states.read(readOf(url, 10), NEVER);
  for (const socket of sockets) socket.destroy();
  assert.deepEqual((await states.read(readOf(url, 10), NEVER)).values, { v10: 7 });
});

test("modbus states – a device that accepts the connection and never responds is told in words", async (t) => {
  const { url } = await device(t, () => {});
  await assert.rejects(client(t).read(readOf(url, 1), NEVER), (error: unknown) => {
    assert.ok(error instanceof ModbusFailure);
    assert.equal(error.message, `${url}, unit 1: it did not respond in time`);
    return error.isSilent && !error.isDeviceAway;
  });
});

test("modbus states – a dead unit behind a gateway does not make the others unreachable", async (t) => {
  const { url } = await device(t, (request, socket) => {
    if (request.readUInt8(6) !== 2) socket.write(answerTo(request, 7));
  });
  const states = client(t);
  const ofUnit = (unit: number) => ({ ...readOf(url, 10), unit });
  await states.read(ofUnit(1), NEVER);
  await assert.rejects(
    states.read(ofUnit(2), NEVER),
    (error) =>
      error instanceof ModbusFailure && !error.isDeviceAway && / unit 2: /.test(error.message),
  );
  assert.deepEqual((await states.read(ofUnit(3), NEVER)).values, { v10: 7 });
});
