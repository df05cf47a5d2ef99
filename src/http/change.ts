/** What a request needs, by the route that it matched: the text of an address has many spellings. */

import type { FastifyRequest } from "fastify";
import type { TokenRole } from "./auth.ts";

export interface Access {
  /** The least role that may use it. */
  readonly role: TokenRole;
  readonly isChange: boolean;
}

declare module "fastify" {
  interface FastifyContextConfig {
    readonly access?: Access;
  }
}

export function accessOf({
  method,
  asks,
  role,
}: {
  readonly method: string;
  readonly asks?: true;
  readonly role?: TokenRole;
}): Access {
  const isChange = !/^(get|head)$/i.test(method) && asks !== true;
  return { role: role ?? (isChange ? "all" : "view"), isChange };
}

/** Where no operation matched, every method but GET and HEAD counts as a change. */
export function accessTo({ method, routeOptions }: FastifyRequest): Access {
  return routeOptions.config.access ?? accessOf({ method });
}
