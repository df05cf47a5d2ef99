/** Holds a store open: `node --import tsx test/support/hold-child.ts FILE reader|writer`, until its stdin ends. */
import Sqlite from "better-sqlite3";

const [path = "", how] = process.argv.slice(2);
// On a busy machine the agent's own transactions last.
const db = new Sqlite(path, { readonly: how === "reader", timeout: 60_000 });
db.exec(how === "reader" ? "BEGIN" : "BEGIN IMMEDIATE");
db.prepare("SELECT count(*) FROM readings").get();
// Named here, it is not collected meanwhile.
process.stdin.on("end", () => process.exit(db.open ? 0 : 1)).resume();
process.stdout.write("held\n");
