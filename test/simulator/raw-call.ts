import { connect } from "node:net";

export interface RawAnswer {
  readonly status: number;
  /** Header lines as they came, names in lower case. */
  readonly headers: Readonly<Record<string, string>>;
  /** Bytes after the head, still chunked where they came chunked. */
  readonly body: Buffer;
  readonly ended: "end" | "reset" | "quiet" | "refused";
  readonly firstByteMs: number | null;
  /** How many times bytes arrived. */
  readonly pieces: number;
}

/** One POST over a bare socket, so that nothing on the way tidies up what the simulator does. */
export function rawCall(
  port: number,
  path: string,
  body: string,
  options: {
    quietMs?: number;
    method?: string;
    headers?: readonly string[];
    onFirstBytes?: () => void;
  } = {},
): Promise<RawAnswer> {
  return new Promise((resolve) => {
    const parts: Buffer[] = [];
    const startMs = performance.now();
    let firstByteMs: number | null = null;
    const socket = connect(port, "127.0.0.1");
    const finish = (ended: RawAnswer["ended"]) => {
      socket.destroy();
      const all = Buffer.concat(parts);
      const split = all.indexOf("\r\n\r\n");
      const lines = all.subarray(0, Math.max(0, split)).toString().split("\r\n");
      const headers = Object.fromEntries(
        lines.slice(1).map((line) => {
          const colon = line.indexOf(":");
          return [line.slice(0, colon).toLowerCase(), line.slice(colon + 1).trim()];
        }),
      );
      const status = Number(lines[0]?.split(" ")[1] ?? 0);
      resolve({
        status,
        headers,
        body: all.subarray(split < 0 ? 0 : split + 4),
        ended,
        firstByteMs,
        pieces: parts.length,
      });
    };
    socket.setTimeout(options.quietMs ?? 5000, () => finish("quiet"));
    socket.on("data", (part) => {
      firstByteMs ??= performance.now() - startMs;
      if (parts.push(part) === 1) options.onFirstBytes?.();
    });
    socket.on("end", () => finish("end"));
    socket.on("error", (error: NodeJS.ErrnoException) =>
      finish(error.code === "ECONNREFUSED" ? "refused" : "reset"),
    );
    const head = [
      `${options.method ?? "POST"} ${path} HTTP/1.1`,
      "Host: gateway",
      "Content-Type: application/json",
      `Content-Length: ${Buffer.byteLength(body)}`,
      "Connection: close",
      ...(options.headers ?? []),
    ];
    socket.write(`${head.join("\r\n")}\r\n\r\n${body}`);
  });
}
