import type { Settings } from "../config/settings.ts";

/** Names the setting that mends it; the code stays, because `demo` takes another port by it. */
export function listenFailure(
  error: unknown,
  { httpHost, httpPort }: Pick<Settings, "httpHost" | "httpPort">,
): unknown {
  const code: unknown =
    typeof error === "object" && error !== null ? Reflect.get(error, "code") : null;
  const told = (message: string) => Object.assign(new Error(message, { cause: error }), { code });
  const place = `${httpHost}:${httpPort}`;
  switch (code) {
    case "EADDRINUSE":
      return told(
        `HTTP_PORT: ${place} is taken by another program, perhaps another agent; give another port, or off`,
      );
    case "EACCES":
      return told(`HTTP_PORT: this user may not listen on ${place}; give a port above 1023`);
    case "EADDRNOTAVAIL":
    case "ENOTFOUND":
      return told(`HTTP_HOST: ${httpHost} is no address of this machine`);
    default:
      return error;
  }
}
