import { randomBytes } from "node:crypto";
import type { BrokerTls } from "../../core/collect-options.ts";
import { type BrokerAddress, publicBroker } from "../broker-url.ts";
import { MqttConnection } from "../mqtt/connection.ts";
import { isVersionRefusal } from "../mqtt/refusal.ts";
import { unreachedText } from "../unreached.ts";

/** Retained messages arrive at once; after this long without any there are no more, ms. */
const QUIET_MS = 1500;
/** Total limit, for a broker that never falls silent, ms. */
const READ_MS = 30_000;

export interface Broker {
  readonly addresses: readonly BrokerAddress[];
  readonly tls: BrokerTls;
}

export type OnMessage = (topic: string, payload: Buffer, isRetained: boolean) => void;

export interface RetainedSession {
  readonly connection: MqttConnection;
  readonly protocolVersion: 4 | 5;
  /** True if a retained message has come. */
  readonly hasRetained: boolean;
}

/**
 * Receives what the broker retains for these filters, then does `work` on the same connection. Tries the addresses in
 * turn, each with MQTT 5, then 3.1.1; rejects if none responds.
 */
export async function withRetained<T>(
  { addresses, tls }: Broker,
  filters: readonly string[],
  begin: () => OnMessage,
  work: (reader: RetainedSession) => Promise<T> | T,
): Promise<T> {
  const failures: string[] = [];
  for (const address of addresses) {
    try {
      return await read(address, tls, filters, begin(), work, 5).catch((error: unknown) => {
        if (!isVersionRefusal(error)) throw error;
        return read(address, tls, filters, begin(), work, 4);
      });
    } catch (error) {
      failures.push(`${publicBroker(address)}: ${unreachedText(error, "the broker")}`);
    }
  }
  throw new Error(failures.join("; "));
}

async function read<T>(
  address: BrokerAddress,
  tls: BrokerTls,
  filters: readonly string[],
  onMessage: OnMessage,
  work: (reader: RetainedSession) => Promise<T> | T,
  protocolVersion: 4 | 5,
): Promise<T> {
  let heardAt = 0;
  let hasRetained = false;
  let close: (error: Error) => void = () => {};
  const closed = new Promise<never>((_, reject) => {
    close = reject;
  });
  closed.catch(() => {});
  const connection = new MqttConnection({
    address,
    tls,
    clientId: `gsf${randomBytes(8).toString("hex")}`,
    isTransient: true,
    protocolVersion,
    onPublish: ({ topic, payload, retain, messageId, qos }) => {
      heardAt = performance.now();
      hasRetained ||= retain;
      onMessage(topic, Buffer.isBuffer(payload) ? payload : Buffer.from(payload), retain);
      if (messageId !== undefined && qos === 1) connection.acknowledge(messageId);
      connection.flush();
    },
    onClose: (reason) => close(new Error(reason)),
  });
  let check: NodeJS.Timeout | undefined;
  try {
    await connection.open();
    await connection.subscribe(filters);
    const startedAt = performance.now();
    heardAt = startedAt;
    const quiet = new Promise<void>((resolve) => {
      check = setInterval(() => {
        const now = performance.now();
        if (now - heardAt > QUIET_MS || now - startedAt > READ_MS) resolve();
      }, 100);
    });
    await Promise.race([quiet, closed]);
    return await Promise.race([work({ connection, protocolVersion, hasRetained }), closed]);
  } finally {
    clearInterval(check);
    connection.end(true);
  }
}
