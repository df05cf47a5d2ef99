/**
 * `npm run attack`: sends what a hostile gateway, broker or neighbour could send to the built agent, started with the unit's flags. Bounded,
 * seeded, on loopback only. `-- --ci` runs the short form. Prints the rows of the table in docs/faults.md.
 */
import { attackByRecords } from "./records.ts";
import { type Row, rowText } from "./row.ts";

const isShort = process.argv.includes("--ci");
let failed = 0;
const onRow = (row: Row) => {
  console.log(rowText(row));
  if (!row.isWell) failed += 1;
};
console.log("| Input | What happens | Peak memory, MB | Longest loop hold, ms |");
console.log("| --- | --- | --- | --- |");
await attackByRecords(isShort, onRow);
if (failed > 0) {
  console.error(`${failed} attacks exceeded their limits`);
  process.exitCode = 1;
}
