/** A server that the agent is made to connect to: nothing of what it answers may be disclosed. */
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import type { TestContext } from "node:test";

export async function openStranger(t: TestContext) {
  const inside = "the-inside-of-a-stranger";
  const asked: string[] = [];
  const stranger = createServer((request, response) => {
    asked.push(String(request.url));
    const path = /^\/(\w+)/.exec(String(request.url))?.[1];
    if (path === "redirect") response.writeHead(307, { location: "/followed" }).end(inside);
    else if (path === "denied") response.writeHead(403).end(inside);
    else if (path === "huge") response.end(`["${inside}${"x".repeat(100_000)}"]`);
    else response.end(path === "json" ? JSON.stringify({ secret: inside }) : `<p>${inside}</p>`);
  });
  await new Promise<void>((done) => stranger.listen(0, "127.0.0.1", done));
  t.after(() => stranger.close());
  const host = `127.0.0.1:${(stranger.address() as AddressInfo).port}`;
  const paths = ["page", "json", "denied", "huge", "redirect"];
  return { asked, host, inside, paths };
}
