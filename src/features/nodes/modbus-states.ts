/** States of nodes from Modbus TCP registers (plant section 13). Loaded only if the site file names such a source. */
import { connect, type Socket } from "node:net";
import ModbusClient from "modbus-serial";
import type { ModbusStateRead } from "../../core/sensor.ts";
import { messageOf as textOfError } from "../../core/thrown.ts";
import { type RegisterBlock, registerBlocks } from "./rules/registers.ts";
import { type StateSample, sampleOfRegisters } from "./rules/state-sample.ts";
import { deviceOf } from "./state-job.ts";

export interface ModbusDeadlines {
  readonly connectMs: number;
  /** For one response. */
  readonly answerMs: number;
}
const DEADLINES: ModbusDeadlines = { connectMs: 5_000, answerMs: 5_000 };
const PORT = 502;
/** Names of the exceptions (Modbus application protocol section 7). */
const EXCEPTIONS: Readonly<Record<number, string>> = {
  1: "it does not support this function",
  2: "it has no registers at these addresses",
  3: "it does not accept this number of registers",
  4: "it reports an internal failure",
  5: "it needs more time",
  6: "it is busy",
  10: "its gateway has no path to this unit",
  11: "the unit behind its gateway does not respond",
};

/** A device that returned no registers. */
export class ModbusFailure extends Error {
  override readonly name = "ModbusFailure";
  /** The device itself cannot be reached: other reads of it would fail, too. */
  readonly isDeviceAway: boolean;
  /** The number of the device's exception; null if it returned none. */
  readonly exception: number | null;
  /** It accepts connections and did not respond: behind a Modbus gateway, only this unit may be dead. */
  readonly isSilent: boolean;

  constructor(
    message: string,
    isDeviceAway: boolean,
    exception: number | null = null,
    isSilent = false,
  ) {
    super(message);
    this.isDeviceAway = isDeviceAway;
    this.exception = exception;
    this.isSilent = isSilent;
  }
}

interface ModbusSession {
  readonly client: ModbusClient;
  readonly socket: Socket;
}

/** One connection to each device, kept between reads. Reads of one device must not overlap. */
export class ModbusStates {
  readonly #deadlines: ModbusDeadlines;
  readonly #sessions = new Map<string, ModbusSession>();

  constructor(deadlines: ModbusDeadlines = DEADLINES) {
    this.#deadlines = deadlines;
  }

  /** All registers of a read: all of them or a ModbusFailure. */
  async read(read: ModbusStateRead, signal: AbortSignal): Promise<StateSample> {
    const { registers, wordOrder = "big" } = read;
    return sampleOfRegisters(await this.words(read, signal), registers, wordOrder);
  }

  /** The registers' words by address. */
  async words(read: ModbusStateRead, signal: AbortSignal): Promise<ReadonlyMap<number, number>> {
    const isReused = this.#sessions.has(deviceOf(read.url));
    try {
      return await this.#words(read, signal);
    } catch (error) {
      // Devices close idle connections, which shows only on the next use: that says nothing about the device.
      const isStale =
        isReused && error instanceof ModbusFailure && (error.isDeviceAway || error.isSilent);
      if (!isStale || signal.aborted) throw error;
      return await this.#words(read, signal);
    }
  }

  /** Closes all connections except those to `urls`. */
  keep(urls: ReadonlySet<string>): void {
    for (const url of this.#sessions.keys()) if (!urls.has(url)) this.#drop(url);
  }

  close(): void {
    this.keep(new Set());
  }

  async #words(
    { url: written, unit = 1, function: code = 3, registers }: ModbusStateRead,
    signal: AbortSignal,
  ): Promise<Map<number, number>> {
    const url = deviceOf(written);
    const session = this.#sessions.get(url) ?? (await this.#open(url, signal));
    const abort = () => session.socket.destroy();
    signal.addEventListener("abort", abort, { once: true });
    const words = new Map<number, number>();
    try {
      session.client.setID(unit);
      for (const block of registerBlocks(registers)) {
        for (const [i, word] of (await this.#block(session, code, block)).entries()) {
          words.set(block.address + i, word);
        }
      }
      return words;
    } catch (error) {
      const failure = failureOf(error, `${url}, unit ${unit}`);
      // A late response must not be taken for that of the next request.
      if (failure.isDeviceAway || failure.isSilent) this.#drop(url);
      throw failure;
    } finally {
      signal.removeEventListener("abort", abort);
    }
  }

  async #block(
    { client, socket }: ModbusSession,
    code: 3 | 4,
    { address, count }: RegisterBlock,
  ): Promise<readonly number[]> {
    let ended: () => void = () => {};
    // The library waits its whole timeout for a response that a closed connection can no longer deliver.
    const closed = new Promise<never>((_, reject) => {
      ended = () => reject(new ModbusFailure("it closed the connection", true));
      if (socket.destroyed) ended();
      socket.once("close", ended);
    });
    const reading =
      code === 3
        ? client.readHoldingRegisters(address, count)
        : client.readInputRegisters(address, count);
    try {
      const { data } = await Promise.race([reading, closed]);
      if (data.length !== count) {
        throw new ModbusFailure(`it returned ${data.length} of ${count} registers`, true);
      }
      return data;
    } finally {
      socket.removeListener("close", ended);
      reading.catch(() => {});
      closed.catch(() => {});
    }
  }

  async #open(url: string, signal: AbortSignal): Promise<ModbusSession> {
    const socket = await this.#connect(url, signal);
    const client = new ModbusClient();
    client.setTimeout(this.#deadlines.answerMs);
    // The end of an idle connection shows at its next use.
    client.on("error", () => {});
    await client.linkTCP(socket, { port: socket.remotePort ?? PORT });
    const session = { client, socket };
    socket.once("close", () => {
      if (this.#sessions.get(url) === session) this.#sessions.delete(url);
    });
    this.#sessions.set(url, session);
    return session;
  }

  async #connect(url: string, signal: AbortSignal): Promise<Socket> {
    const { hostname, port } = new URL(url);
    const socket = connect({
      host: hostname.replace(/^\[|\]$/g, ""),
      port: port === "" ? PORT : Number(port),
      noDelay: true,
    });
    const { connectMs } = this.#deadlines;
    const abort = () => socket.destroy(new Error("aborted"));
    const tooLate = setTimeout(
      () => socket.destroy(new Error(`no connection within ${connectMs / 1000} s`)),
      connectMs,
    );
    signal.addEventListener("abort", abort, { once: true });
    if (signal.aborted) abort();
    try {
      await new Promise<void>((done, fail) => {
        socket.once("connect", done);
        socket.once("error", fail);
      });
    } catch (error) {
      throw failureOf(error, url);
    } finally {
      clearTimeout(tooLate);
      signal.removeEventListener("abort", abort);
    }
    socket.on("error", () => {});
    return socket;
  }

  #drop(url: string): void {
    const session = this.#sessions.get(url);
    this.#sessions.delete(url);
    session?.socket.destroy();
  }
}

/** `source` is the address, with the unit once there is a connection: behind one gateway, each of several is told apart. */
function failureOf(error: unknown, source: string): ModbusFailure {
  if (error instanceof ModbusFailure) {
    return new ModbusFailure(`${source}: ${error.message}`, error.isDeviceAway);
  }
  const code = exceptionOf(error);
  if (code !== null) {
    const words = EXCEPTIONS[code];
    return new ModbusFailure(
      `${source}: it returned exception ${code}${words === undefined ? "" : `: ${words}`}`,
      false,
      code,
    );
  }
  const message = messageOf(error);
  if (message === TIMED_OUT)
    return new ModbusFailure(`${source}: it did not respond in time`, false, null, true);
  return new ModbusFailure(`${source}: ${message}`, true);
}

/** How the library says that no response came. */
const TIMED_OUT = "Timed out";

/** The library rejects with plain objects, too: its time-out is one. */
function messageOf(error: unknown): string {
  if (error instanceof Error) return textOfError(error);
  if (typeof error !== "object" || error === null || !("message" in error)) return String(error);
  return String(error.message);
}

function exceptionOf(error: unknown): number | null {
  if (typeof error !== "object" || error === null || !("modbusCode" in error)) return null;
  return typeof error.modbusCode === "number" ? error.modbusCode : null;
}
