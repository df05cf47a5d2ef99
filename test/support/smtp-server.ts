/** A mail server of the few commands that a delivery needs: it keeps what it was handed, and refuses on request. */

import type { AddressInfo } from "node:net";
import { createServer, type Socket } from "node:net";
import type { Cleanup } from "./temp-database.ts";

interface Mail {
  readonly from: string;
  readonly to: readonly string[];
  /** Base64 of `\0user\0password`, as AUTH PLAIN sends it; null: nobody logged in. */
  readonly login: string | null;
  /** Headers and body as they came, CRLF. */
  readonly data: string;
}

export interface SmtpServer {
  readonly port: number;
  readonly mails: readonly Mail[];
  /** Of the conversations so far. */
  readonly connections: number;
}

/**
 * @param refusals answers in place of 250 to the first mails' data, such as `451 try again later`
 * @param unknown recipients that it refuses
 */
export async function startSmtpServer(
  t: Cleanup,
  refusals: string[] = [],
  unknown: readonly string[] = [],
): Promise<SmtpServer> {
  const mails: Mail[] = [];
  const sockets = new Set<Socket>();
  let connections = 0;
  const server = createServer((socket) => {
    connections += 1;
    sockets.add(socket);
    socket.on("close", () => sockets.delete(socket)).on("error", () => socket.destroy());
    talk(socket, { refusals, unknown }, (mail) => mails.push(mail));
  });
  await new Promise<void>((listening) => server.listen(0, "127.0.0.1", listening));
  t.after(() => {
    for (const socket of sockets) socket.destroy();
    server.close();
  });
  return {
    port: (server.address() as AddressInfo).port,
    mails,
    get connections() {
      return connections;
    },
  };
}

interface Refusals {
  readonly refusals: string[];
  readonly unknown: readonly string[];
}

function talk(socket: Socket, { refusals, unknown }: Refusals, keep: (mail: Mail) => void): void {
  let login: string | null = null;
  let from = "";
  let to: string[] = [];
  let data: string[] | null = null;
  const say = (line: string) => socket.write(`${line}\r\n`);
  const hear = (line: string): void => {
    if (data !== null) {
      if (line !== ".") {
        data.push(line.replace(/^\.\./, "."));
        return;
      }
      const refusal = refusals.shift();
      if (refusal === undefined) keep({ from, to, login, data: data.join("\r\n") });
      say(refusal ?? "250 taken");
      data = null;
      return;
    }
    const [, verb = "", rest = ""] = /^(\w+) ?(.*)$/.exec(line) ?? [];
    switch (verb.toUpperCase()) {
      case "EHLO":
        socket.write("250-mail.test\r\n250-AUTH PLAIN\r\n250 8BITMIME\r\n");
        return;
      case "AUTH":
        login = rest.replace(/^PLAIN /i, "");
        say("235 welcome");
        return;
      case "MAIL":
        from = /<(.*)>/.exec(rest)?.[1] ?? "";
        to = [];
        say("250 ok");
        return;
      case "RCPT": {
        const address = /<(.*)>/.exec(rest)?.[1] ?? "";
        if (unknown.includes(address)) return void say("550 5.1.1 no such user");
        to.push(address);
        say("250 ok");
        return;
      }
      case "DATA":
        data = [];
        say("354 go on");
        return;
      case "QUIT":
        say("221 bye");
        socket.end();
        return;
      default:
        say("250 ok");
    }
  };
  let rest = "";
  socket.setEncoding("utf8").on("data", (text: string) => {
    const lines = `${rest}${text}`.split("\r\n");
    rest = lines.pop() ?? "";
    for (const line of lines) hear(line);
  });
  say("220 mail.test");
}
