import type { PolledKind } from "../sensor.ts";

/** Channel names of the site file by kind (`word` with 1 to `count`), and the members that apply to each besides `name`. */
export const CHANNEL_MEMBERS: Readonly<
  Record<
    PolledKind,
    { readonly word: string; readonly count: number; readonly members: readonly string[] }
  >
> = {
  accel: { word: "channel", count: 3, members: ["axis"] },
  current: { word: "current", count: 3, members: ["clamp", "ratio"] },
  currentV2: { word: "current", count: 4, members: ["clamp", "ratio"] },
  // The clamp is a property of the channel for all that is read from it, although ampere-hours need no factor.
  accCurrent: { word: "current", count: 4, members: ["clamp", "ratio"] },
  loop: {
    word: "channel",
    count: 4,
    members: ["unit", "low", "high", "resistorOhm", "signal", "extraction", "lowFlowCutoff"],
  },
  dryContact: { word: "input", count: 4, members: ["invert"] },
  rpm: { word: "", count: 0, members: [] },
};
