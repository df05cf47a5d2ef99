/** A Grafana board drawn from its layout and the rows of its queries: stat, table and time series panels in the board's grid, as SVG text. */
import type { Panel } from "../test/support/boards.ts";
import { escaped, label, scale, ticks } from "./plot-svg.ts";

export interface PanelRows {
  readonly panel: Panel;
  readonly columns: readonly string[];
  readonly rows: readonly Readonly<Record<string, unknown>>[];
}

export interface BoardPicture {
  readonly title: string;
  /** The selected variables, and a note that this is not a screenshot. */
  readonly subtitle: string;
  readonly fromMs: number;
  readonly toMs: number;
  readonly panels: readonly PanelRows[];
}

const WIDTH = 1200;
const CELL = WIDTH / 24;
const ROW = 34;
const GAP = 6;
const HEAD = 58;
const LINE = 19;
const CHARACTER = 6.9;
const COLOURS = [
  "#1463a5",
  "#b3541e",
  "#2e7d32",
  "#7b3fa0",
  "#a8860b",
  "#00838f",
  "#ad1457",
  "#5d4037",
];

const STYLE = `
  .page { fill: #f4f5f7 } .panel { fill: #ffffff; stroke: #dfe3e8 } .grid { stroke: #e8ebef }
  .line { fill: none; stroke-width: 1.3; stroke-linejoin: round }
  text { font: 12px system-ui, sans-serif; fill: #30363d }
  .board { font-size: 18px; font-weight: 600 } .title { font-size: 13px; font-weight: 600 }
  .head { font-weight: 600; fill: #1463a5 } .small { font-size: 11px; fill: #59636e } .stat { font-size: 40px; font-weight: 600; fill: #2e7d32 }
  .none { fill: #8b949e }`;

interface Box {
  readonly x: number;
  readonly y: number;
  readonly width: number;
  readonly height: number;
}

export function boardSvg(picture: BoardPicture): string {
  const rows = Math.max(...picture.panels.map(({ panel }) => panel.gridPos.y + panel.gridPos.h));
  const height = HEAD + rows * ROW + GAP;
  const drawn = picture.panels.map((entry) => drawPanel(entry, picture));
  return [
    `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${WIDTH} ${height}" role="img" aria-label="${escaped(picture.title)}">`,
    `<style>${STYLE}</style>`,
    `<rect class="page" width="${WIDTH}" height="${height}"/>`,
    `<text class="board" x="14" y="27">${escaped(picture.title)}</text>`,
    `<text class="small" x="14" y="46">${escaped(picture.subtitle)}</text>`,
    ...drawn,
    "</svg>\n",
  ].join("\n");
}

function drawPanel(entry: PanelRows, picture: BoardPicture): string {
  const { gridPos, title, type } = entry.panel;
  const box = {
    x: gridPos.x * CELL + GAP / 2,
    y: HEAD + gridPos.y * ROW,
    width: gridPos.w * CELL - GAP,
    height: gridPos.h * ROW - GAP,
  };
  const inner = { x: box.x + 10, y: box.y + 28, width: box.width - 20, height: box.height - 36 };
  const content =
    entry.rows.length === 0
      ? `<text class="none" x="${inner.x + inner.width / 2}" y="${inner.y + inner.height / 2}" text-anchor="middle">No data</text>`
      : type === "stat"
        ? stat(entry, inner)
        : type === "table"
          ? table(entry, inner)
          : series(entry, inner, picture);
  return (
    `<rect class="panel" x="${box.x}" y="${box.y}" width="${box.width}" height="${box.height}" rx="3"/>` +
    `<text class="title" x="${inner.x}" y="${box.y + 19}">${escaped(title)}</text>${content}`
  );
}

/** The colour of the highest threshold that the value reaches. */
function thresholdColour({ fieldConfig }: Panel, value: number): string | null {
  const steps = fieldConfig.defaults.thresholds?.steps ?? [];
  const reached = steps.filter((step) => step.value === null || value >= step.value);
  return STAT_COLOURS[reached.at(-1)?.color ?? ""] ?? null;
}
const STAT_COLOURS: Readonly<Record<string, string>> = {
  green: "#2e7d32",
  orange: "#b3541e",
  red: "#b3261e",
  text: "#30363d",
};

function stat({ panel, rows, columns }: PanelRows, box: Box): string {
  const value = rows[0]?.[columns.at(-1) ?? ""];
  const colour = thresholdColour(panel, Number(value));
  const fill = colour === null ? "" : ` style="fill:${colour}"`;
  return `<text class="stat" x="${box.x + box.width / 2}" y="${box.y + box.height / 2 + 14}" text-anchor="middle"${fill}>${escaped(cell(value))}</text>`;
}

function table({ rows, columns }: PanelRows, box: Box): string {
  const most = Math.floor(box.height / LINE) - 1;
  const shown = rows.slice(0, most).map((row) => columns.map((name) => cell(row[name])));
  const names = columns.map((name) => name);
  const lengths = names.map((name, at) =>
    Math.max(name.length + 1, ...shown.map((cells) => cells[at]?.length ?? 0)),
  );
  // Long columns shrink; short ones keep their width.
  const room = Math.floor(box.width / CHARACTER);
  let widths = lengths;
  for (let most = Math.max(...lengths); sum(widths) + columns.length * 2 > room && most > 6; most--)
    widths = lengths.map((length) => Math.min(length, most));
  const total = sum(widths) + widths.length * 2;
  let x = box.x;
  return widths
    .map((width, at) => {
      const left = x;
      x += ((width + 2) / total) * box.width;
      const cut = (text: string) => (text.length > width ? `${text.slice(0, width - 1)}…` : text);
      const lines = shown.map(
        (cells, n) =>
          `<text x="${left.toFixed(0)}" y="${box.y + 14 + (n + 1) * LINE}">${escaped(cut(cells[at] ?? ""))}</text>`,
      );
      return `<text class="head" x="${left.toFixed(0)}" y="${box.y + 14}">${escaped(cut(names[at] ?? ""))}</text>${lines.join("")}`;
    })
    .join("");
}

function series({ panel, rows }: PanelRows, box: Box, picture: BoardPicture): string {
  const lines = new Map<string, (readonly [number, number])[]>();
  for (const { time, metric, value } of rows) {
    if (!(time instanceof Date) || value === null) continue;
    const name = String(metric);
    lines.set(name, [...(lines.get(name) ?? []), [time.getTime(), Number(value)]]);
  }
  const values = [...lines.values()].flat().map(([, value]) => value);
  const [low, high] = [Math.min(...values), Math.max(...values)];
  const margin = (high - low || Math.abs(high) || 1) * 0.08;
  const range = [low >= 0 && low < high / 2 ? 0 : low - margin, high + margin] as const;
  const bottom = box.y + box.height - 42;
  const left = box.x + 46;
  const toX = scale([picture.fromMs, picture.toMs], left, box.x + box.width - 4);
  const toY = scale(range, bottom, box.y + 4);
  const unit = { volt: " V", celsius: " °C" }[panel.fieldConfig.defaults.unit ?? ""] ?? "";
  const grid = ticks(range, 5).map(
    (value) =>
      `<path class="grid" d="M${left} ${toY(value)}H${box.x + box.width - 4}"/><text class="small" x="${left - 6}" y="${toY(value) + 4}" text-anchor="end">${label(value)}${unit}</text>`,
  );
  const hour = 3_600_000;
  const hours: string[] = [];
  for (
    let ms = Math.ceil(picture.fromMs / (3 * hour)) * 3 * hour;
    ms < picture.toMs;
    ms += 3 * hour
  )
    hours.push(
      `<path class="grid" d="M${toX(ms)} ${box.y + 4}V${bottom}"/><text class="small" x="${toX(ms)}" y="${bottom + 15}" text-anchor="middle">${new Date(ms).toISOString().slice(11, 16)}</text>`,
    );
  let x = left;
  const drawn = [...lines].map(([name, points], n) => {
    const colour = COLOURS[n % COLOURS.length];
    const path = points.map(([ms, value]) => `${toX(ms)} ${toY(value)}`).join("L");
    const at = x;
    x += name.length * CHARACTER + 28;
    const dots =
      points.length > 3
        ? ""
        : points
            .map(
              ([ms, value]) =>
                `<circle cx="${toX(ms)}" cy="${toY(value)}" r="2.5" fill="${colour}"/>`,
            )
            .join("");
    const key =
      x > box.x + box.width
        ? ""
        : `<rect x="${at}" y="${bottom + 27}" width="12" height="4" fill="${colour}"/><text class="small" x="${at + 16}" y="${bottom + 33}">${escaped(name)}</text>`;
    return `<path class="line" stroke="${colour}" d="M${path}"/>${dots}${key}`;
  });
  return [...grid, ...hours, ...drawn].join("");
}

function cell(value: unknown): string {
  if (value === null || value === undefined) return "";
  if (value instanceof Date) return value.toISOString().slice(5, 19).replace("T", " ");
  if (typeof value === "number") return String(Number(value.toPrecision(5)));
  return typeof value === "object" ? JSON.stringify(value) : `${value as string}`;
}

const sum = (values: readonly number[]) => values.reduce((total, value) => total + value, 0);
