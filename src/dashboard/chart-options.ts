/** What uPlot is told to draw: axes, scales, series, and what we draw over them. */
import type uPlot from "uplot";
import { drawBands, drawLanes, drawLevels, drawMarks } from "./chart-draw.ts";
import { bandsOf, seriesOptions, tickText, yRange } from "./chart-series.ts";
import type { ChartMark, ChartSpec } from "./chart-spec.ts";
import { LabelPlaces } from "./label-places.ts";
import { colour } from "./theme.ts";
import { timeLabels, timeTicks } from "./time-labels.ts";

export interface ChartPlace {
  /** CSS pixels. */
  readonly width: number;
  readonly height: number;
  /** The plot zooms itself; otherwise its owner draws the range that `onSelect` gets. */
  readonly zoomsItself: boolean;
  onSelect(range: readonly [number, number]): void;
  onCursor(plot: uPlot): void;
  cursorMarks(plot: uPlot): readonly ChartMark[];
}

export function chartOptions(spec: ChartSpec, place: ChartPlace): uPlot.Options {
  const { width, height, zoomsItself } = place;
  const ink = colour("muted");
  const axis: uPlot.Axis = {
    stroke: ink,
    font: "13px system-ui, sans-serif",
    grid: { stroke: colour("grid"), width: 1 },
    ticks: { stroke: colour("line"), width: 1, size: 5 },
  };
  const labels = new LabelPlaces();
  const labelled = { labelFont: "600 13px system-ui, sans-serif", labelSize: 22 };
  return {
    width: width,
    height,
    legend: { show: false },
    scales: {
      x: {
        time: spec.zone !== null,
        ...(spec.range && { range: rangeOf(spec.range, zoomsItself) }),
      },
      y:
        spec.lanes !== undefined
          ? { range: [0, Math.max(1, spec.lanes.length)] }
          : spec.isLog === true
            ? { distr: 3 }
            : { range: (_plot, min, max) => yRange(min, max, spec) },
    },
    axes: [
      {
        ...axis,
        ...labelled,
        label: spec.xLabel,
        size: spec.zone === null ? 30 : 46,
        ...(spec.zone !== null && timeAxis(spec.zone)),
      },
      {
        ...axis,
        ...labelled,
        // Each bar has its own name.
        ...(spec.lanes === undefined && { label: spec.yLabel }),
        size: spec.lanes === undefined ? 58 : 110,
        ...(spec.lanes === undefined
          ? { values: (_plot: uPlot, ticks: (number | null)[]) => ticks.map(tickText) }
          : {
              splits: spec.lanes.map((_, i) => i + 0.5),
              values: spec.lanes.map(({ label }) => label).reverse(),
              ticks: { show: false },
              grid: { show: false },
            }),
      },
    ],
    cursor: {
      points: { size: 7 },
      drag: { x: true, y: false, setScale: zoomsItself },
    },
    series: [{}, ...spec.series.flatMap(seriesOptions)],
    bands: bandsOf(spec),
    hooks: {
      drawAxes: [
        (plot) => drawBands(plot, spec.bands ?? []),
        (plot) => drawLanes(plot, spec.lanes ?? []),
        (plot) => drawLevels(plot, spec.levels ?? []),
      ],
      draw: [
        (plot) => {
          const marks = [...(spec.marks ?? []), ...place.cursorMarks(plot)];
          drawMarks(plot, spec.levels ?? [], marks, labels);
        },
      ],
      setCursor: [(plot) => place.onCursor(plot)],
      setSelect: [
        (plot) => {
          if (zoomsItself || plot.select.width < 4) return;
          const { left, width: selected } = plot.select;
          place.onSelect([plot.posToVal(left, "x"), plot.posToVal(left + selected, "x")]);
        },
      ],
    },
  };
}

function timeAxis(zone: string): Pick<uPlot.Axis, "splits" | "values"> {
  return {
    splits: (_plot, _axis, from, to, step) => timeTicks(from, to, step, zone),
    values: (_plot, ticks, _axis, _space, step) => timeLabels(ticks, step, zone),
  };
}

/** The requested range, until the plot itself is zoomed. */
function rangeOf(range: readonly [number, number], zoomsItself: boolean): uPlot.Scale.Range {
  let isFirst = true;
  return (_plot, min, max) => {
    if (!isFirst && zoomsItself) return [min, max];
    isFirst = false;
    return [range[0], range[1]];
  };
}
