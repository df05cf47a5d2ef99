/** A gateway of a few lines: returns whatever a test specifies, odd but legal forms included. */
import { createServer, type IncomingHttpHeaders } from "node:http";
import type { AddressInfo } from "node:net";
import type { TestContext } from "node:test";

export interface GatewayCall {
  /** Path of the request, e.g. /SensorService.svc/getRPMData. */
  readonly path: string;
  readonly operation: string;
  readonly headers: IncomingHttpHeaders;
  readonly body: Readonly<Record<string, unknown>>;
}

export interface GatewayReply {
  readonly status?: number;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body: string;
}

export interface FakeGateway {
  readonly url: string;
  readonly calls: readonly GatewayCall[];
}

/** `answer` gives the body as text, or the whole reply. */
export async function startFakeGateway(
  t: TestContext,
  answer: (call: GatewayCall) => string | GatewayReply,
): Promise<FakeGateway> {
  const calls: GatewayCall[] = [];
  const server = createServer((request, response) => {
    const chunks: Buffer[] = [];
    request.on("data", (chunk: Buffer) => void chunks.push(chunk));
    request.on("end", () => {
      const path = request.url ?? "";
      const body: Record<string, unknown> = JSON.parse(Buffer.concat(chunks).toString() || "{}");
      const operation = path.slice(path.lastIndexOf("/") + 1);
      const call = { path, operation, headers: request.headers, body };
      calls.push(call);
      const reply = answer(call);
      const {
        status = 200,
        headers = {},
        body: text,
      } = typeof reply === "string" ? { body: reply } : reply;
      response.writeHead(status, { "content-type": "application/json", ...headers });
      response.end(text);
    });
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  t.after(
    () =>
      new Promise((resolve) => {
        server.close(resolve);
        server.closeAllConnections();
      }),
  );
  const { port } = server.address() as AddressInfo;
  return { url: `http://127.0.0.1:${port}`, calls };
}

/** The usual envelope around records. */
export function envelope(records: readonly unknown[], status = 0, description = "OK"): string {
  return JSON.stringify([
    { Configs: [], Key: { Description: description, StatusNumber: status }, Value: records },
  ]);
}

/** A timestamp as the service writes it. */
export const wireTime = (ms: number, offset = "+0000"): string => `/Date(${ms}${offset})/`;

/** The calendar day of an instant, UTC. */
export const utcDay = (ms: number): string => new Date(ms).toISOString().slice(0, 10);
