import type { AddressInfo, Server } from "node:net";

/** Where a server listens that listens at a port. */
export function boundAddress(server: Server): AddressInfo {
  const address = server.address();
  if (address === null || typeof address === "string") throw new TypeError("it listens at no port");
  return address;
}
