/** A broker that repeats in every response what it was given to log in with. */
import { type AddressInfo, createServer, type Socket } from "node:net";
import type { TestContext } from "node:test";
import { generate, type IConnectPacket, type Packet, parser } from "mqtt-packet";

/** A TCP server on a free port, gone with the test. */
export async function listening(t: TestContext, serve: (socket: Socket) => void): Promise<number> {
  const sockets = new Set<Socket>();
  const server = createServer((socket) => {
    sockets.add(socket.on("error", () => {}));
    serve(socket);
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  t.after(() => {
    for (const socket of sockets) socket.destroy();
    server.close();
  });
  return (server.address() as AddressInfo).port;
}

/**
 * MQTT 5; says user name and password wherever it may say something. Every third session is refused, and those of clients whose id
 * ends in `refused`; the others end after some publishes.
 */
export async function echoingBroker(t: TestContext, refused = "-test") {
  const seen = { connects: 0, ended: 0, passwords: new Set<string>() };
  const port = await listening(t, (socket) => {
    const incoming = parser({ protocolVersion: 5 });
    const say = (packet: Packet) => socket.write(generate(packet, { protocolVersion: 5 }));
    let echo = "";
    let given = "";
    let answered = 0;
    const properties = () => ({ reasonString: echo, userProperties: { [echo]: echo } });
    socket.on("data", (bytes) => incoming.parse(bytes));
    incoming.on("packet", (packet: Packet) => {
      if (packet.cmd === "connect") {
        const { username, password, clientId } = packet as IConnectPacket;
        seen.connects += 1;
        given = String(password);
        seen.passwords.add(given);
        echo = `${username}:${given} ${Buffer.from(given).toString("base64")}`;
        const isRefused = seen.connects % 3 === 0 || clientId.endsWith(refused);
        const reasonCode = isRefused ? 0x99 : 0;
        say({ cmd: "connack", reasonCode, sessionPresent: false, properties: properties() });
        if (isRefused) socket.end();
      } else if (packet.cmd === "subscribe") {
        say({
          cmd: "suback",
          messageId: packet.messageId ?? 0,
          granted: packet.subscriptions.map(() => 0),
          properties: properties(),
        });
        for (const { topic } of packet.subscriptions) {
          const payload = JSON.stringify({ sensor: "1001", [echo]: echo, note: given });
          for (const text of [payload, payload.slice(0, -2)])
            say({ cmd: "publish", topic, payload: text, qos: 0, dup: false, retain: false });
        }
      } else if (packet.cmd === "publish" && packet.qos > 0) {
        answered += 1;
        const messageId = packet.messageId ?? 0;
        say({ cmd: "puback", messageId, reasonCode: 0x99, properties: properties() });
        if (answered < 4) return;
        say({ cmd: "disconnect", reasonCode: 0x83, properties: properties() });
        socket.end();
        seen.ended += 1;
      } else if (packet.cmd === "pingreq") say({ cmd: "pingresp" });
    });
  });
  return { port, seen };
}
