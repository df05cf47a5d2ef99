/**
 * The chain on the engines that grow: clusters, standbys, balancers, pools, cells and restores, one after the other on this machine, each under every
 * fault that it knows (`scripts/chain/run.ts`). Prints a row of docs/faults.md for each.
 *
 *   npm run build && npm run clusters [-- --seconds 60] [--only "PART OF A NAME"] [--seed 1]
 */
import { spawnSync } from "node:child_process";
import { parseArgs } from "node:util";

const { values: given } = parseArgs({
  options: {
    seconds: { type: "string", default: "60" },
    only: { type: "string", default: "" },
    seed: { type: "string", default: "1" },
  },
});

const RUN = "scripts/chain/run.ts";
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

const print = (text: string) => process.stdout.write(`${text}\n`);
print(
  "| engines | faults | readings | lost by the database itself | lost | doubled | invented | wrong sensor | wrong unit |",
);
print("| --- | --- | --- | --- | --- | --- | --- | --- | --- |");
for (const [name, words] of CLUSTERS) {
  if (!name.includes(given.only)) continue;
  const { seconds, seed } = given;
  const run = spawnSync(
    process.execPath,
    ["--import", "tsx", RUN, "--seconds", seconds, "--seed", seed, ...words],
    { encoding: "utf8", stdio: ["ignore", "pipe", "inherit"] },
  );
  const faults = [...run.stdout.matchAll(/^ *(\d+) × /gm)].reduce(
    (sum, [, n]) => sum + Number(n),
    0,
  );
  const figure = (what: string) => new RegExp(`${what} (\\d+)`).exec(run.stdout)?.[1] ?? "?";
  const figures = ["served", "database itself", " lost", "doubled", "invented", "sensor", "unit"];
  print(`| ${[name, faults, ...figures.map(figure)].join(" | ")} |`);
  if (run.status !== 0) process.exitCode = 1;
}
