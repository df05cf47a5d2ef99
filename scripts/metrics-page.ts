/** docs/metrics.md, from what the agent and the collector register, so that it always matches the program. */
import { createCollectMetrics } from "../src/collect/metrics.ts";
import type { FeatureSpec } from "../src/features/feature.ts";
import { SPECS } from "../src/features/specs.ts";
import { sensorSeries } from "../src/http/sensor-series.ts";
import { createMetrics } from "../src/lib/metrics.ts";

interface Described {
  readonly name: string;
  readonly type: string;
  readonly labels: readonly string[];
  readonly help: string;
}

interface Registered {
  readonly name: string;
  readonly help: string;
}

/** What the metrics library has of each, beyond its public interface's name and help. */
function described(metric: Registered): Described {
  const { labelNames = [] } = metric as { readonly labelNames?: readonly string[] };
  const type = metric.constructor.name.toLowerCase();
  return { name: metric.name, type, labels: labelNames, help: metric.help };
}

/** Those of sensors are written without the library, as those of features. */
async function ofSensors(): Promise<Described[]> {
  const text = await sensorSeries("", [], 0);
  return [...text.matchAll(/^# HELP (\S+) (.*)\n# TYPE \S+ (\S+)$/gm)].map(
    ([, name = "", help = "", type = ""]) => ({
      name,
      type,
      labels: name.endsWith("_state") ? ["sensor", "name", "state"] : ["sensor", "name"],
      help,
    }),
  );
}

function table(metrics: readonly Described[]): string {
  const rows = metrics
    .toSorted((a, b) => (a.name < b.name ? -1 : 1))
    .map(({ name, type, labels, help }) => {
      const shown = labels.map((label) => `\`${label}\``).join(", ");
      return `| \`${name}\` | ${type} | ${shown} | ${help.replaceAll("|", "\\|")} |`;
    });
  return ["| metric | type | labels | meaning |", "| --- | --- | --- | --- |", ...rows].join("\n");
}

export async function metricsPage(): Promise<string> {
  const agent = createMetrics().registry.getMetricsAsArray().map(described);
  const ofFeatures = SPECS.flatMap(({ metrics = [] }: FeatureSpec) =>
    metrics.map((one) => ({ ...one, type: "gauge" })),
  );
  const collector = createCollectMetrics("g").registry.getMetricsAsArray().map(described);
  return `# Metrics

The agent serves these at \`GET /metrics\`, the collector at the port of \`--metrics\`, both in the Prometheus text format. Each series of the agent also has the label
\`site\`. A histogram has the series \`…_bucket\`, \`…_sum\` and \`…_count\`. Alert rules: [config/prometheus-alerts.yml](../config/prometheus-alerts.yml), and for collectors
[deploy/prometheus/collect-alerts.yml](../deploy/prometheus/collect-alerts.yml). This page is generated from the program: run \`node --import tsx scripts/write-settings-doc.ts\`.

## The agent

${table([...agent, ...(await ofSensors()), ...ofFeatures])}

## The collector

${table(collector)}
`;
}
