/** Holds the files of `src` against the walls (rooms.ts). */
import { posix } from "node:path";
import { type Parsed, parsed } from "./parsed.ts";
import { COMPUTED_IMPORTS, OUTSIDE, PAGE_LISTS, ROOMS } from "./rooms.ts";

/** Files by path from the project's root, such as `src/core/unit.ts`. */
export type Files = ReadonlyMap<string, string>;

/** Folders whose folders are rooms. */
const FLOORS = ["pipeline", "features"];

/** Folders of a feature that are rooms of their own. */
const INNER = ["rules", "page"];

/** A folder or file of a floor, a folder of src, or a file of src itself; files without their ending. */
export function roomOf(path: string): string {
  const [, first = "", ...rest] = path.split("/");
  if (FLOORS.includes(first)) {
    const [name = "", inner = ""] = rest;
    const isInner = first === "features" && rest.length > 2 && INNER.includes(inner);
    return `${first}/${isInner ? `${name}/${inner}` : name.replace(/\.ts$/, "")}`;
  }
  return rest.length === 0 ? first.replace(/\.ts$/, "") : first;
}

function packageOf(specifier: string): string {
  return specifier.split("/", specifier.startsWith("@") ? 2 : 1).join("/");
}

/** The only file that may limit a signal's time. */
const GUARDED_READERS = "src/core/parsed-json.ts";
/** Where texts come from others, who check them, or from ourselves a moment before. */
const READS_OUTSIDE_TEXTS =
  /^src\/(?:config|cli|collect|dashboard|http|simulator|pipeline\/(?:decode|gateway|publish)|features\/(?:[^/]*\/page|setup|sparkplug|platforms|commands|discover|modbus|query-service))\/|^src\/core\/parsed-json\.ts$|^src\/features\/machines\/rules\/waiting-text\.ts$/;
const TIME_LIMIT = "src/lib/time-limit.ts";

/**
 * What a page reads of the agent goes through one door, which wants an `Asking`; those who hand it out put answers in order, so that none
 * overtakes one that was asked for later.
 */
const ASKS_AGENT = /^src\/dashboard\/(?:agent-access|request)\.ts$/;
/** The search of the manual, which has no agent, and a file that only shows whether the agent responds. */
const FETCHES = /^src\/dashboard\/(?:request|agent-access|load-again|manual\/search)\.ts$/;
const HANDS_OUT_ASKING = /^src\/dashboard\/(?:refresh|in-view)\.ts$/;

function pageFaults(file: string, text: string): string[] {
  if (!/^src\/(?:dashboard|features\/[^/]*\/page)\//.test(file)) return [];
  const isForbidden = [
    !ASKS_AGENT.test(file) && /\brequest\(|\baskedEarly\b/.test(text),
    !FETCHES.test(file) && /\bfetch\s*\(|\bXMLHttpRequest\b/.test(text),
    !HANDS_OUT_ASKING.test(file) && /\bas\s+(?:\w+\s+as\s+)?Asking\b|<Asking>/.test(text),
  ];
  return isForbidden.includes(true)
    ? [`${file}: asks the agent out of order: use a Refresh, which hands out an Asking`]
    : [];
}

/** Where a relative import leads, from the project's root. */
const targetOf = (file: string, specifier: string) =>
  posix.normalize(posix.join(posix.dirname(file), specifier));

/** What is forbidden in one file. */
export function faultsOf(file: string, text: string): string[] {
  const name = roomOf(file);
  const room = ROOMS[name];
  if (room === undefined)
    return [`${file}: src/${name} is not a room: list it in test/walls/rooms.ts`];
  const { imports, values, hasUnknownImport, reaches } = parsed(file, text);
  const faults = [...new Set(imports)].flatMap((specifier) => {
    if (specifier.startsWith(".") || specifier.startsWith("/")) {
      const target = targetOf(file, specifier);
      const isOurs = target.startsWith("src/");
      const isAllowed = isOurs
        ? roomOf(target) === name ||
          room.rooms.includes(roomOf(target)) ||
          room.files?.includes(target) === true ||
          (PAGE_LISTS.includes(file) && roomOf(target).endsWith("/page")) ||
          (room.types?.includes(roomOf(target)) === true && !values.includes(specifier))
        : (OUTSIDE[name] ?? []).includes(target);
      return isAllowed ? [] : [`${file}: ${name} may not import ${target}`];
    }
    const isNode = specifier.startsWith("node:");
    const allowed = isNode ? room.node : room.packages;
    const wanted = isNode ? specifier.slice("node:".length) : packageOf(specifier);
    return allowed.includes(wanted) ? [] : [`${file}: ${name} may not import ${specifier}`];
  });
  if (hasUnknownImport && !COMPUTED_IMPORTS.includes(file))
    faults.push(`${file}: imports something that is computed`);
  if (reaches.includes("process.env") && room.readsEnvironment !== true)
    faults.push(`${file}: ${name} may not read process.env`);
  // The browser has no such trouble, and limits of a page need no long life.
  if (name !== "dashboard" && file !== TIME_LIMIT && /\bAbortSignal\s*\.\s*timeout\b/.test(text))
    faults.push(`${file}: a limit that Node 20 may collect before it fires: use ${TIME_LIMIT}`);
  if (!READS_OUTSIDE_TEXTS.test(file) && /\bJSON\s*\.\s*parse\b/.test(text))
    faults.push(`${file}: a text of the store may be damaged: use ${GUARDED_READERS}`);
  faults.push(...pageFaults(file, text));
  if (room.isPure === true)
    for (const global of reaches) faults.push(`${file}: ${name} is pure and may not use ${global}`);
  return faults;
}

/** Files that import each other in a circle, of types too; each circle sorted. */
export function circlesOf(files: Files): string[][] {
  const arrows = new Map<string, readonly string[]>();
  for (const [file, text] of files) arrows.set(file, ownImports(file, parsed(file, text)));
  const circles: string[][] = [];
  const order = new Map<string, number>();
  const lowest = new Map<string, number>();
  const open: string[] = [];
  // Tarjan's strongly connected components.
  const walk = (file: string): void => {
    order.set(file, order.size);
    lowest.set(file, order.get(file) as number);
    open.push(file);
    for (const target of arrows.get(file) ?? []) {
      if (!order.has(target)) walk(target);
      if (open.includes(target))
        lowest.set(file, Math.min(lowest.get(file) as number, lowest.get(target) as number));
    }
    if (lowest.get(file) !== order.get(file)) return;
    const circle = open.splice(open.indexOf(file));
    if (circle.length > 1) circles.push(circle.sort());
  };
  for (const file of arrows.keys()) if (!order.has(file)) walk(file);
  return circles;
}

/** What a spec loads for a command is loaded when everything else is. */
function ownImports(file: string, { imports, lazy }: Parsed): string[] {
  return imports
    .filter((specifier) => specifier.startsWith("."))
    .filter((specifier) => !(file.endsWith("/spec.ts") && lazy.includes(specifier)))
    .map((specifier) => targetOf(file, specifier))
    .filter((target) => target.startsWith("src/"));
}
