import { codeOf } from "../core/thrown.ts";
import type { Settings } from "./settings.ts";

/** Names the setting to correct; the code stays, because `demo` uses it to choose another port. */
export function listenFailure(
  error: unknown,
  { httpHost, httpPort }: Pick<Settings, "httpHost" | "httpPort">,
): Error {
  const code: unknown = codeOf(error);
  const failure = (message: string) =>
    Object.assign(new Error(message, { cause: error }), { code });
  const place = `${httpHost}:${httpPort}`;
  switch (code) {
    case "EADDRINUSE":
      return failure(
        `HTTP_PORT: ${place} is in use by another program, perhaps another agent; set another port, or off`,
      );
    case "EACCES":
      return failure(
        `HTTP_PORT: this user is not allowed to listen on ${place}; set a port above 1023`,
      );
    case "EADDRNOTAVAIL":
    case "ENOTFOUND":
      return failure(
        `HTTP_HOST: ${httpHost} is not an address of this machine; set one that it has, 0.0.0.0 for all of them, or 127.0.0.1`,
      );
    default:
      return error instanceof Error ? error : new Error(String(error), { cause: error });
  }
}
