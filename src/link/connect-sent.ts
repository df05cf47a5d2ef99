import type { Duplex } from "node:stream";
import { codeOf } from "../core/thrown.ts";

/** Learns whether the connection opened, i.e. whether the CONNECT queued by mqtt.js was sent. */
export function watchConnect(
  stream: Duplex,
  url: string,
  isTunnelled: boolean,
  tell: { readonly sent: () => void; readonly unsent: () => void },
): void {
  const scheme = new URL(url).protocol;
  if (scheme === "mqtt:" && isTunnelled) tell.sent();
  else if (scheme === "mqtt:" || scheme === "mqtts:")
    stream.once(scheme === "mqtt:" ? "connect" : "secureConnect", tell.sent);
  else {
    // A web socket stream does not show it: assumed sent, unless the address could not even be reached.
    tell.sent();
    stream.once("error", (err: unknown) => {
      const code = codeOf(err);
      if (code === "ECONNREFUSED" || code === "ENOTFOUND") tell.unsent();
    });
  }
}
