/** The floor of rows 1o and 10o: what asking for the same days costs with bare undici, in groups, at the agent's pace. A process of its own. */
import { Pool } from "undici";

const [, , url = "", codes = "", day = "", periodMs = "10000", group = "6"] = process.argv;
const pool = new Pool(url, { connections: 2, pipelining: 1 });
const sensors = codes.split(",");
const groups = Array.from({ length: Math.ceil(sensors.length / Number(group)) }, (_, n) =>
  sensors.slice(n * Number(group), (n + 1) * Number(group)),
);

async function read(code: string): Promise<void> {
  const body = JSON.stringify({ sensorCode: code, date: day });
  const { body: response } = await pool.request({
    path: "/SensorService/getRPMData",
    method: "POST",
    headers: { "content-type": "application/json" },
    body,
  });
  for await (const chunk of response) void chunk;
}

groups.forEach((members, n) => {
  const begin = () => void Promise.all(members.map(read));
  setTimeout(
    () => {
      begin();
      setInterval(begin, Number(periodMs));
    },
    (n * Number(periodMs)) / groups.length,
  );
});
