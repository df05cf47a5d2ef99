/**
 * The chain with harm among its faults, one seed after the other: boxes with the rights of deploy/, one that uses its own against them, malformed
 * messages, tables dropped under running collectors, databases that die. Every fourth seed over RabbitMQ, every third on a pair of databases.
 *
 *   npm run build && npm run chain [-- --seeds 1-20] [--faults 9] [--seconds 20]
 */
import { parseArgs } from "node:util";
import { FIGURES, row, runChain } from "./figures.ts";

const { values: given } = parseArgs({
  options: {
    seeds: { type: "string", default: "1-20" },
    /** Of a seed. */
    faults: { type: "string", default: "9" },
    seconds: { type: "string", default: "20" },
  },
});

const [first = 1, last = first] = given.seeds.split("-").map(Number);
const sums = FIGURES.map(() => 0);
const faults = new Map<string, number>();
const print = (text: string) => process.stdout.write(text);
print(row(["seed", "broker", "database", "faults", ...FIGURES.map(([heading]) => heading)]));
print(row(Array.from({ length: 4 + FIGURES.length }, () => "---")));
for (let seed = first; seed <= last; seed++) {
  const broker = seed % 4 === 0 ? "rabbitmq" : "mosquitto";
  const database = seed % 3 === 0 ? "synchronous" : "single";
  const chain = `--harm --boxes 2 --nodes 1 --broker ${broker} --database ${database}`;
  const length = `--seed ${seed} --faults ${given.faults} --seconds ${given.seconds}`;
  const run = await runChain(`${chain} ${length}`.split(" "));
  const caused = [...run.faults.values()].reduce((sum, count) => sum + count, 0);
  print(row([seed, broker, database, caused, ...run.figures.map((figure) => figure ?? "?")]));
  run.figures.forEach((figure, at) => {
    sums[at] = (sums[at] ?? 0) + (figure ?? 0);
  });
  for (const [name, count] of run.faults) faults.set(name, (faults.get(name) ?? 0) + count);
  if (!run.isWell) process.exitCode = 1;
}
const caused = [...faults.values()].reduce((sum, count) => sum + count, 0);
print(row(["all", "", "", caused, ...sums]));
for (const [name, count] of [...faults].sort((a, b) => b[1] - a[1])) print(`${count} × ${name}\n`);
