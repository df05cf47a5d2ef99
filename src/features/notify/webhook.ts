/** Notices as JSON to an HTTP address. */
import { createHmac } from "node:crypto";
import { Agent, request } from "undici";
import { withPublicAuthorities } from "../../lib/authorities.ts";
import { retryAfter } from "../../lib/response-headers.ts";
import { splitLogin } from "./address.ts";
import { DeliveryRefused, type Send } from "./delivery.ts";
import { type Machines, NO_MACHINES } from "./machines.ts";
import { sensorsOf } from "./notice.ts";

const CONNECT_MS = 10_000;
/** Bad request, content too large, unprocessable content. */
const ABOUT_CONTENT = new Set([400, 413, 422]);

export interface Webhook {
  /** May hold `user:password@`, sent as Basic. */
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
  /** Key of the signature; null for none. */
  readonly secret: string | null;
  /** PEM of a private CA, beside the public ones. */
  readonly ca: () => string | null;
  /** The dashboard's address; null if none is known. */
  readonly link: string | null;
}

/** Posts `{"site","text","link","machines":[…],"events":[payload, …]}`; any 2xx response accepts them. */
export function webhook(
  { url, headers, secret, ca, link }: Webhook,
  site: () => string,
  machines: Machines = NO_MACHINES,
  now: () => number = Date.now,
): Send {
  const { target, headers: login } = splitLogin(url);
  const fixed = { "content-type": "application/json", ...login, ...headers };
  return async (notices, signal) => {
    const text = notices.map((notice) => notice.text).join("\n");
    const events = notices.map((notice) => notice.payload(site()));
    const told = await machines(sensorsOf(notices));
    const head = JSON.stringify({
      site: site(),
      text,
      ...(link === null ? {} : { link }),
      ...(told.length === 0 ? {} : { machines: told }),
    });
    const body = `${head.slice(0, -1)},"events":[${events.join(",")}]}`;
    const signature =
      secret === null
        ? {}
        : {
            "x-gateside-signature": `sha256=${createHmac("sha256", secret).update(body).digest("hex")}`,
          };
    const pem = ca();
    const dispatcher = new Agent({
      connect: {
        timeout: CONNECT_MS,
        ...(pem === null ? {} : { ca: withPublicAuthorities(pem) }),
      },
    });
    try {
      const response = await request(target, {
        method: "POST",
        headers: { ...fixed, ...signature },
        body,
        signal,
        dispatcher,
      });
      await response.body.dump();
      const { statusCode, headers: given } = response;
      if (statusCode < 200 || statusCode > 299) {
        const waitMs = retryAfter(given, now()) ?? 0;
        const wait = waitMs === 0 ? "" : ` and asks to wait ${Math.ceil(waitMs / 1000)} s`;
        throw new DeliveryRefused(
          `the server returned HTTP ${statusCode}${wait}`,
          ABOUT_CONTENT.has(statusCode),
          waitMs,
        );
      }
      return null;
    } finally {
      await dispatcher.destroy();
    }
  };
}
