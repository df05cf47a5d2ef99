import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { respond, takeFrame } from "../../../src/lib/modbus/frame.ts";

const request = (code: number, address: number, count: number, transaction = 0x1234, unit = 7) => {
  const frame = Buffer.alloc(12);
  frame.writeUInt16BE(transaction, 0);
  frame.writeUInt16BE(6, 4);
  frame.writeUInt8(unit, 6);
  frame.writeUInt8(code, 7);
  frame.writeUInt16BE(address, 8);
  frame.writeUInt16BE(count, 10);
  return frame;
};
const read = (address: number, count: number) =>
  address + count > 20 ? null : Array.from({ length: count }, (_, i) => address + i);

test("frame – functions 3 and 4 give the same response, with the transaction and unit of the request", () => {
  for (const code of [3, 4]) {
    assert.equal(
      respond(request(code, 5, 2), read).toString("hex"),
      `12340000000707${`0${code}`}0400050006`,
    );
  }
});

test("frame – an address that does not exist is exception 2, a count out of range 3, another function 1", () => {
  const exception = (frame: Buffer) => respond(frame, read).subarray(7).toString("hex");
  assert.equal(exception(request(3, 19, 2)), "8302");
  assert.equal(exception(request(4, 0, 0)), "8403");
  assert.equal(exception(request(4, 0, 126)), "8403");
  assert.equal(exception(request(6, 0, 1)), "8601");
  assert.equal(exception(request(16, 0, 1)), "9001");
});

test("frame – a store that cannot be read is exception 4", () => {
  const failing = () => {
    throw new Error("disk I/O error");
  };
  assert.equal(
    respond(request(3, 0, 1), failing)
      .subarray(7)
      .toString("hex"),
    "8304",
  );
});

test("frame – another protocol or an impossible length is not Modbus", () => {
  assert.equal(takeFrame(Buffer.from("GET / HTTP/1.1\r\n\r\n")), "invalid");
  assert.equal(takeFrame(Buffer.from("123400000001", "hex")), "invalid");
  assert.equal(takeFrame(Buffer.from("1234000000ff", "hex")), "invalid");
  assert.equal(takeFrame(Buffer.from("123400000006", "hex")), null);
});

test("frame – any complete frame, whatever its bytes, gets one well-formed response of limited size", () => {
  fc.assert(
    fc.property(fc.uint8Array({ minLength: 2, maxLength: 254 }), (rest) => {
      const frame = Buffer.concat([Buffer.alloc(6), rest]);
      frame.writeUInt16BE(rest.length, 4);
      const taken = takeFrame(frame);
      assert.ok(Buffer.isBuffer(taken));
      const response = respond(taken, read);
      assert.equal(response.readUInt16BE(4), response.length - 6);
      assert.ok(response.length <= 260);
    }),
  );
});
