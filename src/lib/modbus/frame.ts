/** Modbus application protocol over TCP (MODBUS Messaging on TCP/IP, section 3; Application Protocol V1.1b3, section 6). */

/** Transaction, protocol, length, unit. */
const HEADER_BYTES = 7;
/** The largest value of the length field: unit and the largest PDU. */
const LENGTH_MAX = 254;
/** Most registers that one response can carry. */
const COUNT_MAX = 125;

const READ_HOLDING_REGISTERS = 3;
const READ_INPUT_REGISTERS = 4;

const ILLEGAL_FUNCTION = 1;
const ILLEGAL_DATA_ADDRESS = 2;
const ILLEGAL_DATA_VALUE = 3;
const DEVICE_FAILURE = 4;

/** Reads registers; null if one of them does not exist. */
export type ReadRegisters = (address: number, count: number) => readonly number[] | null;

/** The first frame of `received`: its bytes, null while it is incomplete, `invalid` if this cannot be Modbus. */
export function takeFrame(received: Buffer): Buffer | null | "invalid" {
  if (received.length < 6) return null;
  const length = received.readUInt16BE(4);
  // Unit and function are the minimum; anything else means that we have lost the client's framing, or never had it.
  if (received.readUInt16BE(2) !== 0 || length < 2 || length > LENGTH_MAX) return "invalid";
  const bytes = 6 + length;
  return received.length < bytes ? null : received.subarray(0, bytes);
}

/** The response to a complete frame. */
export function respond(frame: Buffer, read: ReadRegisters): Buffer {
  const code = frame.readUInt8(HEADER_BYTES);
  if (code !== READ_HOLDING_REGISTERS && code !== READ_INPUT_REGISTERS) {
    return exception(frame, code, ILLEGAL_FUNCTION);
  }
  if (frame.length !== HEADER_BYTES + 5) return exception(frame, code, ILLEGAL_DATA_VALUE);
  const address = frame.readUInt16BE(HEADER_BYTES + 1);
  const count = frame.readUInt16BE(HEADER_BYTES + 3);
  if (count < 1 || count > COUNT_MAX) return exception(frame, code, ILLEGAL_DATA_VALUE);
  let registers: readonly number[] | null;
  try {
    registers = read(address, count);
  } catch {
    // The store cannot be read now. The client gets an exception and can retry.
    return exception(frame, code, DEVICE_FAILURE);
  }
  if (registers === null) return exception(frame, code, ILLEGAL_DATA_ADDRESS);
  const response = reply(frame, code, 1 + 2 * count);
  response.writeUInt8(2 * count, HEADER_BYTES + 1);
  registers.forEach((register, i) => response.writeUInt16BE(register, HEADER_BYTES + 2 + 2 * i));
  return response;
}

function exception(frame: Buffer, code: number, reason: number): Buffer {
  const response = reply(frame, code | 0x80, 1);
  response.writeUInt8(reason, HEADER_BYTES + 1);
  return response;
}

/** Transaction and unit of the request, the function, and room for `dataBytes` more. */
function reply(frame: Buffer, code: number, dataBytes: number): Buffer {
  const response = Buffer.alloc(HEADER_BYTES + 1 + dataBytes);
  frame.copy(response, 0, 0, 2);
  response.writeUInt16BE(2 + dataBytes, 4);
  response.writeUInt8(frame.readUInt8(6), 6);
  response.writeUInt8(code & 0xff, HEADER_BYTES);
  return response;
}
