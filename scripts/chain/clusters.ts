/**
 * The chain on the engines that grow: clusters, standbys, balancers, pools, cells and restores, one after the other on this machine, each under every
 * fault that it knows (`scripts/chain/run.ts`). Prints a row of docs/faults.md for each.
 *
 *   npm run build && npm run clusters [-- --seconds 60] [--only "PART OF A NAME"] [--seed 1]
 */
import { parseArgs } from "node:util";
import { FIGURES, row, runChain } from "./figures.ts";

const { values: given } = parseArgs({
  options: {
    seconds: { type: "string", default: "60" },
    only: { type: "string", default: "" },
    seed: { type: "string", default: "1" },
  },
});

const RABBITMQ = ["--broker", "rabbitmq"];
const database = (kind: string) => ["--database", kind];
const CLUSTERS: readonly (readonly [string, readonly string[]])[] = [
  ["RabbitMQ, three nodes, quorum queue", RABBITMQ],
  ["two cells on it: two prefixes, two databases", [...RABBITMQ, "--cells", "2", "--boxes", "4"]],
  ["PostgreSQL with a synchronous standby", database("synchronous")],
  ["the same behind haproxy without role checks", database("balanced")],
  ["PostgreSQL with an asynchronous standby", database("asynchronous")],
  ["Patroni with etcd, asynchronous (its default)", database("patroni")],
  ["Patroni with etcd, synchronous", database("patroni-synchronous")],
  ["PostgreSQL restored from a dump", database("restored")],
  ["PgBouncer in session mode", database("pooled")],
];

const print = (text: string) => process.stdout.write(text);
print(row(["engines", "faults", ...FIGURES.map(([heading]) => heading)]));
print(row(Array.from({ length: 2 + FIGURES.length }, () => "---")));
for (const [name, words] of CLUSTERS) {
  if (!name.includes(given.only)) continue;
  const run = await runChain(["--seconds", given.seconds, "--seed", given.seed, ...words]);
  const faults = [...run.faults.values()].reduce((sum, count) => sum + count, 0);
  print(row([name, faults, ...run.figures.map((figure) => figure ?? "?")]));
  if (!run.isWell) process.exitCode = 1;
}
