import { brokerAddress } from "../broker-url.ts";
import type { BrokerTls } from "../options.ts";
import type { FleetBox } from "./box.ts";
import { fleetFromBroker } from "./from-broker.ts";
import { fleetFromDatabase } from "./from-database.ts";

export type { FleetBox } from "./box.ts";

interface FleetOptions {
  /** Read from the database if it is given, otherwise from the broker's retained topics. */
  readonly db: string | null;
  readonly from: readonly string[];
  readonly prefix: string;
  readonly tls: BrokerTls;
}

/** All boxes by site. Rejects if neither broker nor database responds. */
export function readFleet(options: FleetOptions, nowMs: number): Promise<FleetBox[]> {
  if (options.db !== null) return fleetFromDatabase(options.db, nowMs);
  return fleetFromBroker(options.from.map(brokerAddress), options.tls, options.prefix, nowMs);
}
