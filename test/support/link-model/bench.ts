import {
  type Mosquitto,
  type RecordingSubscriber,
  recordMessages,
  startMosquitto,
} from "../mosquitto.ts";

/** What the broker accepts, bytes. */
export const PACKET_BYTES_MAX = 20_000;

/** What many sequences share, one after another. */
export interface Bench {
  readonly broker: Mosquitto;
  readonly subscriber: RecordingSubscriber;
  close(): Promise<void>;
}

export async function openBench(): Promise<Bench> {
  const broker = await startMosquitto({ maxPacketSize: PACKET_BYTES_MAX });
  const subscriber = await recordMessages(broker.url);
  const close = async () => {
    await subscriber.close();
    await broker.close();
  };
  return { broker, subscriber, close };
}
