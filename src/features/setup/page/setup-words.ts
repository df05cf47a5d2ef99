/** What the forms call a member, where the schema speaks to somebody who edits the file. */
import type { JsonSchema } from "../../../dashboard/setup-schema.ts";

/** Title and explanation; an empty explanation shows none. */
type Words = readonly [title: string, description?: string];

const LOCATION: Readonly<Record<string, Words>> = {
  location: ["Location", "Where it stands, by the numbers that the query service returns."],
  "location.company": ["Company"],
  "location.area": ["Area"],
  "location.machine": ["Machine"],
  "location.point": ["Measuring point"],
};

const SELECTIONS: Readonly<Record<string, Words>> = {
  "select.sensors": ["Sensors"],
  "select.areas": ["Areas"],
  "select.machines": ["Machines"],
  "select.values": ["Values"],
};

/** By form, and by the path within it without positions and names of channels. */
const WORDS: Readonly<Record<string, Readonly<Record<string, Words>>>> = {
  sensor: {
    ...LOCATION,
    kinds: ["Kinds of readings of this sensor", "None if only its own state is read."],
    stateReads: [
      "Further reads of its own state",
      "Battery, firmware, signal strength, its own RMS values.",
    ],
    pollIntervalS: ["Poll interval, s", "For this sensor instead of the interval of the box."],
    channels: ["Channels", "A current or a loop that is not ticked is not published."],
    "channels.*.axis": ["Direction", "As it is mounted. Default: H, V, A for channels 1, 2, 3."],
    "channels.*.clamp": [
      "Rating of the fitted current clamp, A",
      "Needed for each ticked current.",
    ],
    "channels.*.ratio": ["Amperes of the conductor per ampere in the clamp"],
    "channels.*.unit": ["Unit"],
    "channels.*.high": ["Value at 20 mA", "It may be below the value at 4 mA."],
    "channels.*.signal": ["Signal, mA"],
    "channels.*.extraction": ["Square root"],
    "channels.*.resistorOhm": ["Shunt, ohm"],
    "channels.*.invert": ["Invert it"],
    checkDisplacement: ["Also apply the displacement limits", "Only for groups 1 and 2."],
  },
  machine: {
    id: ["Machine", "Sensors belong to it by their location."],
    running: [
      "When the machine is running",
      "By a value above or below a limit, or by a contact. With neither: while the contact is closed.",
    ],
    "running.sensor": ["Sensor"],
    "running.kind": ["Kind of reading", ""],
    "running.value": ["Value"],
    "running.above": ["Running above, in the value's unit"],
    "running.below": ["Running below, in the value's unit"],
    "running.is": ["Running while the contact is"],
    "speed.sensor": ["Speed sensor"],
    shafts: [
      "Shafts at other speeds",
      "Shafts that turn at a multiple of the measured speed, by a gear or a belt. What stands above is the measured shaft's.",
    ],
    "shafts[].points": ["Measuring points on it", ""],
    "bearings[]": ["Rolling bearing", "By its geometry, or by its four multiples."],
    "bearings[].point": ["Measuring point", ""],
  },
  alarm: {
    ...SELECTIONS,
    name: ["Name", "It is part of the alarm's topic."],
    select: ["Values to which it applies", "Where nothing is chosen: all."],
    highHigh: ["Alarm above this", "In the value's unit; a contact counts as 0 or 1."],
    onlyRunning: [
      "Only while the machine is running",
      "Readings wait until it is known whether it runs.",
    ],
  },
  uplink: {
    ...SELECTIONS,
    clientId: [
      "MQTT client id",
      "At most 128 characters. Default: made of the names of site and uplink.",
    ],
    compact: [
      "Short readings",
      "Without units, names and location; a retained message carries the units.",
    ],
  },
};

/** @param form the view of one entry @param path as `bearings[0].point` */
export function ownWords(form: string, path: string): Pick<JsonSchema, "title" | "description"> {
  const place = path.replaceAll(/\[\d+\]/g, "[]").replace(/^channels\.\w+\./, "channels.*.");
  const [title, description] = WORDS[form]?.[place] ?? [];
  return {
    ...(title !== undefined && { title }),
    ...(description !== undefined && { description }),
  };
}

/** For example `Channel 1`. @param name as in the file */
export function channelTitle(name: string): string {
  const [, word = name, number = ""] = /^([a-z]+)(\d+)$/.exec(name) ?? [];
  const title = { channel: "Channel", current: "Current", input: "Contact" }[word];
  return title === undefined ? name : `${title} ${number}`;
}
