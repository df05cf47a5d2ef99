import { Duplex } from "node:stream";
import { type Channel, type ChannelModel, connect } from "amqplib";
import type { BrokerTls } from "../../core/collect-options.ts";
import { messageOf } from "../../core/thrown.ts";
import { type BrokerAddress, tlsOptions } from "../broker-url.ts";

const HEARTBEAT_S = 30;
const CONNECT_TIMEOUT_MS = 20_000;
/** A starting node accepts connections and requests, and may never answer them; after this there is another attempt, ms. */
const SETUP_TIMEOUT_MS = 10_000;
/** The same for closing, ms. */
const CLOSE_TIMEOUT_MS = 2000;

export async function open(address: BrokerAddress, tls: BrokerTls): Promise<ChannelModel> {
  const url = new URL(address.url);
  url.searchParams.set("heartbeat", String(HEARTBEAT_S));
  const connecting = connect(url.href, {
    ...tlsOptions(tls),
    timeout: CONNECT_TIMEOUT_MS,
    servername: address.host,
    clientProperties: { connection_name: "gateside collect" },
  });
  // One that arrives nevertheless is not used any more.
  return inTime(connecting).catch((error: unknown) => {
    connecting.then(closeSoon, () => {});
    throw error;
  });
}

export function endOf(part: ChannelModel | Channel): Promise<string> {
  return new Promise((resolve) => {
    part.on("error", (error: Error) => resolve(messageOf(error)));
    part.on("close", () => resolve("the broker closed the connection"));
  });
}

/** Rejects if the broker does not respond in time. */
export async function inTime<T>(work: Promise<T>): Promise<T> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<never>((_, reject) => {
    const text = `no response within ${SETUP_TIMEOUT_MS / 1000} s`;
    timer = setTimeout(() => reject(new Error(text)), SETUP_TIMEOUT_MS);
  });
  try {
    return await Promise.race([work, late]);
  } finally {
    clearTimeout(timer);
  }
}

/** A clean close if the broker responds, otherwise the connection is cut. */
export async function closeSoon(connection: ChannelModel): Promise<void> {
  const stream: unknown = Reflect.get(connection.connection, "stream");
  const timer = setTimeout(() => {
    if (stream instanceof Duplex) stream.destroy(new Error("the broker does not respond"));
  }, CLOSE_TIMEOUT_MS);
  await Promise.race([
    connection.close().catch(() => {}),
    new Promise((resolve) => setTimeout(resolve, CLOSE_TIMEOUT_MS + 100).unref()),
  ]);
  clearTimeout(timer);
}
