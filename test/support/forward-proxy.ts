import { createServer, request } from "node:http";
import { type AddressInfo, connect, type Socket } from "node:net";

/**
 * A small forward proxy: absolute addresses for http, CONNECT for the rest; wants a log-in where one is given.
 * @param names that it alone resolves
 */
export async function startForwardProxy(
  t: { after(fn: () => void): void },
  login: string | null = null,
  names: Readonly<Record<string, string>> = {},
) {
  const asked: string[] = [];
  const sockets = new Set<Socket>();
  const wanted = login === null ? null : `Basic ${Buffer.from(login).toString("base64")}`;
  const server = createServer((incoming, outgoing) => {
    asked.push(`${incoming.method} ${incoming.url}`);
    if (wanted !== null && incoming.headers["proxy-authorization"] !== wanted) {
      outgoing.writeHead(407).end();
      return;
    }
    const { "proxy-authorization": _, ...headers } = incoming.headers;
    const onward = request(incoming.url ?? "", { method: incoming.method, headers }, (answer) => {
      outgoing.writeHead(answer.statusCode ?? 502, answer.headers);
      answer.pipe(outgoing);
    });
    onward.on("error", () => outgoing.writeHead(502).end());
    incoming.pipe(onward);
  });
  server.on("connect", (incoming, client: Socket) => {
    asked.push(`CONNECT ${incoming.url}`);
    if (wanted !== null && incoming.headers["proxy-authorization"] !== wanted) {
      client.end("HTTP/1.1 407 Proxy Authentication Required\r\n\r\n");
      return;
    }
    const [host = "", port] = (incoming.url ?? "").split(":");
    let isOpen = false;
    const far = connect(Number(port), names[host] ?? host, () => {
      isOpen = true;
      client.write("HTTP/1.1 200 Connection Established\r\n\r\n");
      far.pipe(client).pipe(far);
    });
    far.once("error", () => {
      if (!isOpen) client.end("HTTP/1.1 502 Bad Gateway\r\n\r\n");
    });
    for (const socket of [far, client]) {
      sockets.add(socket);
      socket.on("error", () => socket.destroy());
    }
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  t.after(() => {
    for (const socket of sockets) socket.destroy();
    server.closeAllConnections();
    server.close();
  });
  const { port } = server.address() as AddressInfo;
  return { asked, port, url: `http://${login === null ? "" : `${login}@`}127.0.0.1:${port}` };
}
