/** Runs under record-writes.c: spoils the disk while storing and settling, heals it, and prints what it saw as JSON. */
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { StoreFailure } from "../../src/pipeline/store/database/store-failure.ts";
import { openStore } from "../../src/pipeline/store/sqlite-store.ts";
import { append, readingOf, START_MS, storeOptions } from "./temp-database.ts";

const readings = (from: number) =>
  Array.from({ length: 10 }, (_, n) => readingOf("1", START_MS + (from + n) * 1000));

async function suffer(directory: string, control: string, fault: string) {
  const spoil = (text: string) => writeFileSync(control, text);
  const dataDir = join(directory, `fault-${fault}`);
  mkdirSync(dataDir);
  const store = openStore(storeOptions(dataDir));
  await append(store, readings(0));
  const entries = store.outbox.lease("json", "backlog", 5);
  spoil(fault);
  const failure = await append(store, readings(10)).then(
    () => null,
    (error: unknown) => error,
  );
  const settling = store.outbox.settle(
    "json",
    entries.map((entry) => ({ entry, outcome: "sent" as const })),
  );
  await store.outbox.flush();
  const whileSpoiled = {
    code: failure instanceof StoreFailure ? failure.code : String(failure),
    isRetryable: failure instanceof StoreFailure && failure.isRetryable,
    isWritable: store.state().isWritable,
    leased: store.outbox.lease("json", "backlog", 5).length,
  };
  spoil("-");
  const stored = await append(store, readings(10));
  await settling;
  const healed = {
    stored,
    readings: store.state().readings,
    owed: store.outbox.depth("json").readings,
    isWritable: store.state().isWritable,
  };
  await store.close();
  const again = openStore(storeOptions(dataDir));
  const reopened = {
    readings: again.state().readings,
    owed: again.outbox.depth("json").readings,
    alarm: again.state().alarm,
  };
  await again.close();
  return { fault, whileSpoiled, healed, reopened };
}

async function main(): Promise<void> {
  const [directory = "", control = ""] = process.argv.slice(2);
  const seen = [];
  for (const fault of ["f", "w", "s"]) seen.push(await suffer(directory, control, fault));
  console.log(JSON.stringify(seen));
}

void main();
