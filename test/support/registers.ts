/** A Modbus device for tests: it knows the registers of a map and no others. */
import type { TestContext } from "node:test";
import { ModbusServer } from "../../src/lib/modbus/server.ts";
import { RecordingLogger } from "./recording-logger.ts";
import { until } from "./wait-until.ts";

interface Registers {
  /** tcp://host:port */
  readonly url: string;
  close(): Promise<void>;
}

/** `port` 0 takes any free one. Changes of `words` are served at once. */
export async function startRegisters(
  t: TestContext,
  words: ReadonlyMap<number, number>,
  port = 0,
): Promise<Registers> {
  const ending = new AbortController();
  const server = new ModbusServer(
    {
      logger: new RecordingLogger(),
      read: (address, count) => {
        const found = Array.from({ length: count }, (_, i) => words.get(address + i));
        return found.every((word) => word !== undefined) ? found : null;
      },
    },
    { host: "127.0.0.1", port },
  );
  const running = server.run(ending.signal);
  const close = async () => {
    ending.abort();
    await running;
  };
  t.after(close);
  const address = await until("registers are served", () => server.address ?? undefined);
  return { url: `tcp://${address}`, close };
}
