/** Accepts nothing for as long as its parent says, in a process of its own, because it blocks itself for it. Run by slow-listener.ts. */
import { type AddressInfo, createServer } from "node:net";

const greets = process.argv[2] === "greets";
const server = createServer((socket) => {
  socket.on("error", () => socket.destroy());
  socket.once("data", () => {
    process.send?.({ isReached: true });
    socket.destroy();
  });
  if (greets) socket.write("220 far.example\r\n");
});
server.listen({ port: 0, host: "127.0.0.1", backlog: 1 }, () => {
  process.send?.({ port: (server.address() as AddressInfo).port });
});
process.on("message", (ms: number) => {
  process.send?.({ isHeld: true }, () => {
    Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, ms);
  });
});
