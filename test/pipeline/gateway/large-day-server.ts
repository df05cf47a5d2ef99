import { createServer } from "node:http";
import type { AddressInfo } from "node:net";

/** Sends one day of waveforms of about the asked size, made on the way; prints its port. */
const RECORDS = Number(process.argv[2]);
const SAMPLES = 25_600;

const samples = Array.from({ length: SAMPLES }, (_, index) =>
  Math.round(9_000 * Math.sin(index / 7) + 500 * Math.sin(index * 1.7)),
).join(",");
const record = (index: number) =>
  `{"calibration":0.000244,"channel1":[${samples}],"channel2":[${samples}],"channel3":[${samples}],` +
  `"sample_rate":25600,"sensor_code":"10234","time_data":"\\/Date(${1_763_600_000_000 + index * 1000}+0200)\\/"}`;

const server = createServer((request, response) => {
  request.resume();
  response.setHeader("content-type", "application/json; charset=utf-8");
  response.write('[{"Configs":[],"Key":{"Description":"OK","StatusNumber":0},"Value":[');
  let index = 0;
  const more = () => {
    while (index < RECORDS) {
      const text = `${index === 0 ? "" : ","}${record(index)}`;
      index += 1;
      if (!response.write(text)) {
        response.once("drain", more);
        return;
      }
    }
    response.end("]}]");
  };
  more();
});
server.listen(0, "127.0.0.1", () => {
  console.log((server.address() as AddressInfo).port);
});
process.on("disconnect", () => process.exit());
