/** The Grafana boards of `deploy/`, and their queries as Grafana's data source would send them. */
import assert from "node:assert/strict";
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";

const GRAFANA = join("deploy", "grafana");

export interface Panel {
  readonly id: number;
  readonly type: string;
  readonly title: string;
  readonly gridPos: {
    readonly x: number;
    readonly y: number;
    readonly w: number;
    readonly h: number;
  };
  readonly fieldConfig: {
    readonly defaults: {
      readonly unit?: string;
      readonly thresholds?: {
        readonly steps: readonly { readonly color: string; readonly value: number | null }[];
      };
    };
  };
  readonly targets: readonly { readonly rawSql?: string; readonly expr?: string }[];
}

export interface Board {
  readonly uid: string;
  readonly title: string;
  readonly templating: {
    readonly list: readonly {
      readonly name: string;
      readonly type: string;
      readonly query: string;
    }[];
  };
  readonly panels: readonly Panel[];
}

export function readBoards(): readonly Board[] {
  return readdirSync(GRAFANA)
    .filter((name) => name.endsWith(".json"))
    .sort()
    .map((name) => JSON.parse(readFileSync(join(GRAFANA, name), "utf8")) as Board);
}

export interface BoardView {
  /** Each by the values that are chosen; several make a list. */
  readonly variables: Readonly<Record<string, string | readonly string[]>>;
  /** SQL expressions of the ends of the time range. */
  readonly from?: string;
  readonly to?: string;
  /** Grafana's `$__interval`, such as `1m`. */
  readonly interval?: string;
}

/** What Grafana's data source makes of its macros and variables. */
export function expandedSql(sql: string, view: BoardView): string {
  const { variables, from = "now() - interval '1 day'", to = "now()", interval = "60s" } = view;
  return sql
    .replace(/\$__timeFilter\(([\w.]+)\)/g, `$1 BETWEEN ${from} AND ${to}`)
    .replaceAll("$__timeFrom()", `(${from})`)
    .replaceAll("$__timeTo()", `(${to})`)
    .replaceAll("$__interval", interval)
    .replace(/\$\{(\w+):sqlstring\}/g, (_, name: string) =>
      [variables[name] ?? assert.fail(name)]
        .flat()
        .map((value) => `'${value.replaceAll("'", "''")}'`)
        .join(","),
    );
}
