import { readingKinds, type Sensor } from "../../core/sensor.ts";
import type { Site } from "../../core/site.ts";
import { machineDevice, selectsMachine, siteMachines } from "../../core/site-machines.ts";
import { topicLevel } from "../../core/topic-level.ts";
import {
  described,
  type PublishedTopic,
  row,
  type TopicPlan,
} from "../../core/topics/published-row.ts";
import { createSelector } from "../../core/uplink.ts";
import { publishedChannels } from "../../pipeline/convert/accel.ts";

/** Births, data and deaths of the node and its devices, with a row for each metric. @param sensors those that are selected */
export function sparkplugTopics(
  plan: TopicPlan,
  site: Site,
  sensors: readonly Sensor[],
): PublishedTopic[] {
  if (plan.sparkplug === null) return [];
  const { group, node } = plan.sparkplug;
  const select = createSelector(plan.select, site.sensors);
  const of = { format: "sparkplug", type: "bytes", qos: 0 } as const;
  const nodeTopics = ["NBIRTH", "NDATA", "NDEATH"].map((verb) =>
    row({ ...of, topic: `spBv1.0/${group}/${verb}/${node}`, stream: `${verb} of ${node}` }),
  );
  const deviceTopics = sensors.flatMap((sensor) => {
    const topicOf = (verb: string) =>
      `spBv1.0/${group}/${verb}/${node}/${topicLevel(sensor.code.trim())}`;
    const messages = ["DBIRTH", "DDATA", "DDEATH"].map((verb) =>
      row({
        ...of,
        topic: topicOf(verb),
        stream: `${verb} of ${sensor.code}`,
        sensor: sensor.code,
      }),
    );
    const ddata = {
      ...of,
      topic: topicOf("DDATA"),
      stream: `DDATA of ${sensor.code}`,
      sensor: sensor.code,
    };
    const metrics = readingKinds(sensor)
      .filter((kind) => select.includes(sensor.code, kind))
      .flatMap((kind) =>
        described(sensor, kind, select).map((value) =>
          row({ ...ddata, kind, ...value, path: `${kind}/${value.value}` }),
        ),
      );
    const hasWaveforms = sensor.kinds.includes("accel") && plan.waveforms !== "never";
    const waveforms = hasWaveforms ? publishedChannels(sensor, true) : [];
    return [
      ...messages,
      ...metrics,
      ...waveforms.map(({ number, axis }) =>
        row({
          ...ddata,
          kind: "accel",
          path: `accel/waveform/channel${number}`,
          value: `channel${number}`,
          axis,
          unit: "G",
        }),
      ),
    ];
  });
  const machines =
    plan.alarms !== false && plan.sparkplug.machines === true
      ? siteMachines(site).filter((machine) => selectsMachine(plan.select, machine))
      : [];
  const machineTopics = machines.flatMap(({ id }) =>
    ["DBIRTH", "DDATA", "DDEATH"].map((verb) =>
      row({
        ...of,
        topic: `spBv1.0/${group}/${verb}/${node}/${machineDevice(id)}`,
        stream: `${verb} of machine ${id}`,
      }),
    ),
  );
  return [...nodeTopics, ...deviceTopics, ...machineTopics];
}
