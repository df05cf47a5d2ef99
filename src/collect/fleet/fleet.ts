import type { CollectOptions } from "../../core/collect-options.ts";
import { brokerAddress } from "../broker-url.ts";
import { type FleetBox, inOrder } from "./box.ts";
import { fleetFromBroker } from "./from-broker.ts";
import { fleetFromDatabase } from "./from-database.ts";

export type { FleetBox } from "./box.ts";

interface FleetOptions extends Pick<CollectOptions, "from" | "prefix" | "tls"> {
  /** Read from the database if it is given, otherwise from the broker's retained topics. */
  readonly db: string | null;
}

/** All boxes, those that need somebody most first. Rejects if neither broker nor database responds. */
export async function readFleet(options: FleetOptions, nowMs: number): Promise<FleetBox[]> {
  const { db, from, tls, prefix } = options;
  return inOrder(
    db !== null
      ? await fleetFromDatabase(db)
      : await fleetFromBroker({ addresses: from.map(brokerAddress), tls }, prefix, nowMs),
  );
}
