import { availableParallelism } from "node:os";
import { parseArgs } from "node:util";
import { HAPPENINGS, type HappeningName } from "./happenings.ts";

export const HELP = `npm run virtual -- [options]: runs the whole agent in virtual time, and compares what was delivered, id by id.

  --seeds A-B         which seeds (default 1-10); a seed is a plant, its settings, and everything that happens to it
  --hours H           virtual hours of faults (default 8), after which everything heals and must be delivered
  --flood             other seeds: a first start that is larger than the buffer, three uplinks, a disk that others fill
  --only NAME,…       only these happenings; the others of the seed are left out, the rest stays as it is
  --without NAME,…    all but these; --only none leaves out everything
  --twice             runs each seed twice: the journals must be equal to the byte
  --against COMMIT    runs each seed with the agent of that commit as well, and shows the first difference
  --mutants [WORDS]   breaks one promise at a time (those whose description contains WORDS), and runs the seed that is known
                      to notice it, or those of --seeds until one does
  --years N           instead of seeds: N years of one plant without faults; a row for each month with files, heap and CPU
  --sensors N         of that plant (default 5)
  --keep FILE         its store at the end is copied to FILE
  --from FILE         starts where a store that was kept ended, once with it and once with a new one, without checks: what an old store costs
  --journal DIR       writes the journal of each seed to DIR
  --jobs N            seeds at a time (default: one for each core)
  --at-most MINUTES   starts no further seed after this time
  --help

Happenings: ${HAPPENINGS.join(", ")}.
Exit code 0: everything held; 1: something did not; 2: the run itself failed.
`;

export interface Orders {
  readonly seeds: readonly number[];
  /** False: the usual ones. */
  readonly areSeedsGiven: boolean;
  readonly hours: number;
  readonly happenings: readonly HappeningName[];
  readonly isFlood: boolean;
  readonly isTwice: boolean;
  readonly against: string | null;
  readonly mutants: string | null;
  readonly years: {
    readonly years: number;
    readonly sensors: number;
    readonly from: string | null;
    readonly keep: string | null;
  } | null;
  readonly journalDir: string | null;
  readonly jobs: number;
  readonly atMostMs: number;
  /** The options that repeat a seed, without the seed. */
  readonly repeat: string;
}

/** Null if help was requested. Throws with a readable message. */
export function readCommandLine(words: readonly string[]): Orders | null {
  const { values, positionals } = parseArgs({
    args: [...words],
    allowPositionals: true,
    options: {
      seeds: { type: "string" },
      hours: { type: "string", default: "8" },
      flood: { type: "boolean", default: false },
      only: { type: "string" },
      without: { type: "string" },
      twice: { type: "boolean", default: false },
      against: { type: "string" },
      mutants: { type: "boolean", default: false },
      years: { type: "string" },
      sensors: { type: "string", default: "5" },
      keep: { type: "string" },
      from: { type: "string" },
      journal: { type: "string" },
      jobs: { type: "string" },
      "at-most": { type: "string" },
      help: { type: "boolean", default: false },
    },
  });
  if (values.help) return null;
  const { seeds = "1-10" } = values;
  const [first = Number.NaN, last = first] = seeds.split("-").map(Number);
  if (!(Number.isInteger(first) && Number.isInteger(last) && first >= 0 && last >= first))
    throw new Error(`--seeds ${seeds}: write a number or a range, e.g. 1-20`);
  const repeat = (["only", "without"] as const)
    .filter((name) => values[name] !== undefined)
    .map((name) => ` --${name} ${JSON.stringify(values[name])}`);
  return {
    seeds: Array.from({ length: last - first + 1 }, (_, i) => first + i),
    areSeedsGiven: values.seeds !== undefined,
    hours: positive("hours", values.hours),
    happenings: happeningsOf(values.only, values.without),
    isFlood: values.flood,
    isTwice: values.twice,
    against: values.against ?? null,
    mutants: values.mutants ? positionals.join(" ") : null,
    years:
      values.years === undefined
        ? null
        : {
            years: positive("years", values.years),
            sensors: positive("sensors", values.sensors),
            from: values.from ?? null,
            keep: values.keep ?? null,
          },
    journalDir: values.journal ?? null,
    jobs: positive("jobs", values.jobs ?? String(availableParallelism())),
    atMostMs:
      values["at-most"] === undefined
        ? Number.POSITIVE_INFINITY
        : positive("at-most", values["at-most"]) * 60_000,
    repeat: ` --hours ${values.hours}${values.flood ? " --flood" : ""}${repeat.join("")}`,
  };
}

function happeningsOf(only: string | undefined, without: string | undefined): HappeningName[] {
  const names = (list = "") =>
    list
      .split(",")
      .filter((name) => name !== "" && name !== "none")
      .map((name) => {
        const known = HAPPENINGS.find((one) => one === name.trim());
        if (known === undefined)
          throw new Error(
            `there is no happening named ${name}; there are ${HAPPENINGS.join(", ")}`,
          );
        return known;
      });
  const left = names(without);
  return (only === undefined ? [...HAPPENINGS] : names(only)).filter(
    (name) => !left.includes(name),
  );
}

function positive(name: string, text: string): number {
  const number = Number(text);
  if (!(number > 0)) throw new Error(`--${name} ${text}: write a number above 0`);
  return number;
}
