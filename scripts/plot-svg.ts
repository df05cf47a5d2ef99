/** A small line chart as SVG text: deterministic, without external fonts or scripts. */

export interface Plot {
  readonly title: string;
  readonly subtitle: string;
  readonly xLabel: string;
  readonly yLabel: string;
  /** Ends of the axes. */
  readonly x: readonly [number, number];
  readonly y: readonly [number, number];
  readonly points: readonly (readonly [number, number])[];
  readonly marks: readonly { readonly x: number; readonly y: number; readonly text: string }[];
}

const WIDTH = 960;
const HEIGHT = 360;
const LEFT = 70;
const RIGHT = 24;
const TOP = 64;
const BOTTOM = 48;
const TICKS_MAX = 8;

const STYLE = `
  .back { fill: #ffffff }
  .grid { stroke: #dfe3e8; stroke-width: 1 }
  .line { fill: none; stroke: #1463a5; stroke-width: 1.2; stroke-linejoin: round }
  .mark { fill: none; stroke: #b3261e; stroke-width: 1 }
  text { font: 13px system-ui, sans-serif; fill: #30363d }
  .title { font-size: 17px; font-weight: 600 }
  .note { fill: #b3261e; font-size: 12px }
  @media (prefers-color-scheme: dark) {
    .back { fill: #12161b } .grid { stroke: #2c333b } .line { stroke: #6cb6ff } text { fill: #d5dae0 }
    .mark { stroke: #ff8a80 } .note { fill: #ff8a80 }
  }`;

export function plotSvg(plot: Plot): string {
  const toX = scale(plot.x, LEFT, WIDTH - RIGHT);
  const toY = scale(plot.y, HEIGHT - BOTTOM, TOP);
  const bottom = HEIGHT - BOTTOM;
  const grid = [
    ...ticks(plot.x).map(
      (value) =>
        `<path class="grid" d="M${toX(value)} ${TOP}V${bottom}"/>` +
        `<text x="${toX(value)}" y="${bottom + 18}" text-anchor="middle">${label(value)}</text>`,
    ),
    ...ticks(plot.y).map(
      (value) =>
        `<path class="grid" d="M${LEFT} ${toY(value)}H${WIDTH - RIGHT}"/>` +
        `<text x="${LEFT - 8}" y="${toY(value) + 4}" text-anchor="end">${label(value)}</text>`,
    ),
  ];
  const path = plot.points.map(([x, y]) => `${toX(x)} ${toY(y)}`).join("L");
  const marks = plot.marks.map(
    ({ x, y, text }) =>
      `<circle class="mark" cx="${toX(x)}" cy="${toY(y)}" r="4"/>` +
      `<text class="note" x="${toX(x) + 7}" y="${toY(y) - 5}">${escaped(text)}</text>`,
  );
  return [
    `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${WIDTH} ${HEIGHT}" role="img" aria-label="${escaped(plot.title)}">`,
    `<style>${STYLE}</style>`,
    `<rect class="back" width="${WIDTH}" height="${HEIGHT}"/>`,
    `<text class="title" x="${LEFT}" y="26">${escaped(plot.title)}</text>`,
    `<text x="${LEFT}" y="46">${escaped(plot.subtitle)}</text>`,
    ...grid,
    `<path class="line" d="M${path}"/>`,
    ...marks,
    `<text x="${(LEFT + WIDTH - RIGHT) / 2}" y="${HEIGHT - 8}" text-anchor="middle">${escaped(plot.xLabel)}</text>`,
    `<text transform="translate(18 ${(TOP + bottom) / 2}) rotate(-90)" text-anchor="middle">${escaped(plot.yLabel)}</text>`,
    "</svg>\n",
  ].join("\n");
}

/** Of a value to a coordinate. */
export function scale(
  [from, to]: readonly [number, number],
  start: number,
  end: number,
): (value: number) => number {
  return (value) => Math.round((start + ((value - from) / (to - from)) * (end - start)) * 10) / 10;
}

/** Round numbers within the range: steps of 1, 2 or 5 times a power of ten. */
export function ticks([from, to]: readonly [number, number], most = TICKS_MAX): number[] {
  const rough = (to - from) / most;
  const decade = 10 ** Math.floor(Math.log10(rough));
  const step = decade * ([1, 2, 5].find((factor) => factor * decade >= rough) ?? 10);
  const values: number[] = [];
  for (let i = Math.ceil(from / step - 1e-9); i * step <= to + step * 1e-9; i++) {
    values.push(i * step);
  }
  return values;
}

export const label = (value: number) => String(Number(value.toPrecision(6)));

export const escaped = (text: string) =>
  text.replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll('"', "&quot;");
