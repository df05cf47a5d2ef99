/** The addresses of a collector: the brokers it reads from, and its database. No fault repeats them, as they contain passwords. */

import { databaseAddress } from "../core/addresses/database-url.ts";
import type { ConfigurationFault } from "../core/configuration/configuration-fault.ts";

export function checkFrom(
  from: readonly string[],
  isRequired: boolean,
  faults: ConfigurationFault[],
): void {
  const remedy =
    "use the broker's address, such as mqtts://collector:password@broker.example:8883 or amqps://…";
  if (from.length === 0) {
    if (isRequired && !faults.some(({ place }) => place.startsWith("COLLECT_FROM")))
      faults.push({
        place: "--from or COLLECT_FROM",
        problem: "is required but not set",
        remedy,
      });
    return;
  }
  const schemes = new Set<string>();
  for (const [at, address] of from.entries()) {
    const scheme = /^(mqtts?|amqps?):\/\//i.exec(address)?.[1]?.toLowerCase();
    if (scheme === undefined || !URL.canParse(address) || new URL(address).hostname === "")
      // The URL may contain a password: only its setting is named.
      faults.push({
        place: `--from, address ${at + 1}`,
        problem: "is not a broker address",
        remedy,
      });
    else schemes.add(scheme.slice(0, 4));
  }
  if (schemes.size > 1)
    faults.push({
      place: "--from",
      problem: "mixes mqtt and amqp, but several addresses are one cluster, tried in turn",
      remedy: "run one `gateside collect` for each broker",
    });
}

export function checkTo(
  to: string,
  given: { readonly flag: string; readonly place: string; readonly isRequired: boolean },
  faults: ConfigurationFault[],
): void {
  const remedy =
    "use the database's address, such as postgres://gateside:password@db.example/gateside";
  if (to === "") {
    if (given.isRequired && !faults.some((one) => one.place.startsWith("COLLECT_TO")))
      faults.push({
        place: `--${given.flag} or COLLECT_TO`,
        problem: "is required but not set",
        remedy,
      });
  } else if (databaseAddress(to) === null) {
    faults.push({
      place: given.place,
      problem: "is not a PostgreSQL address (target_session_attrs may be read-write or any)",
      remedy: `${remedy}, or of several servers: postgres://…@db1:5432,db2:5432/gateside?target_session_attrs=read-write`,
    });
  }
}
