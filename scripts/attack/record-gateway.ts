/** A gateway in a separate process whose day contains a good record, a hostile one and another good one; prints its port. */
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { morningDay } from "../../test/support/morning.ts";
import { HOSTILE_RECORDS } from "./hostile-records.ts";

const record = HOSTILE_RECORDS[Number(process.argv[2])];
if (record === undefined) throw new Error("which record?");
const now = Date.now();
const good = (minutes: number) =>
  record.kind === "rpm"
    ? `{"RPM":1480,"time_data":"/Date(${now - minutes * 60_000})/"}`
    : `{"calibration":0.001,"sample_rate":6400,"channel1":[${Array.from({ length: 512 }, (_, n) => (n * 37) % 400).join(",")}],"time_data":"/Date(${now - minutes * 60_000})/"}`;
const day = Buffer.from(
  `[{"Key":{"StatusNumber":0,"Description":"OK"},"Value":[${good(3)},{"time_data":"/Date(${now - 120_000})/",${record.members()}},${good(1)}]}]`,
);

const server = createServer((request, response) => {
  let body = "";
  request.on("data", (text: Buffer) => {
    body += text.toString();
  });
  request.on("end", () => {
    response.setHeader("Content-Type", "application/json");
    const isToday = body.includes(morningDay());
    response.end(isToday ? day : '[{"Key":{"StatusNumber":0,"Description":"OK"},"Value":[]}]');
  });
});
server.listen(0, "127.0.0.1", () => console.log((server.address() as AddressInfo).port));
process.on("disconnect", () => process.exit());
