/** Sequences that have lost, doubled or stuck something once, each as short as it can be. */
import type { Sequence, Step, UplinkName, Variant } from "./steps.ts";

const ALL = [0, 1, 2, 3, 4, 5, 6, 7];
const store = (k: number, ...more: number[]): Step => ({
  do: "store",
  sensor: "1",
  k,
  more,
  salt: "",
  isFuture: false,
});
const twin = (k: number): Step => ({
  do: "store",
  sensor: "1",
  k,
  more: [],
  salt: "b",
  isFuture: false,
});
const alarm = (k: number): Step => ({ do: "alarm", sensor: "1", k, salt: "" });
const lease = (uplink: UplinkName, which: "live" | "backlog"): Step => ({
  do: "lease",
  uplink,
  which,
  max: 12,
});
const settle = (uplink: UplinkName, outcome: "sent" | "kept" | "oversize"): Step => ({
  do: "settle",
  uplink,
  picks: ALL,
  outcome,
  isFlushed: false,
});
const configure = (uplink: UplinkName, variant: Variant): Step => ({
  do: "configure",
  uplink,
  variant,
});
const pass = (minutes: number): Step => ({ do: "pass", minutes });
/** More than a slice of old backlog. */
const MANY = store(0, ...Array.from({ length: 700 }, (_, k) => k + 1));
const retain: Step = { do: "retain", isAwaited: true };
const beginPass: Step = { do: "retain", isAwaited: false };
const ofOther = (step: Step): Step => ({ ...step, sensor: "2" }) as Step;
const of = (name: string, far: Variant, ...steps: Step[]): readonly [string, Sequence] => [
  name,
  { variants: { main: "json", far }, padding: 0, steps },
];

/** The buffer is full after a dozen readings. */
const ofLarge = (name: string, far: Variant, ...steps: Step[]): readonly [string, Sequence] => [
  name,
  { variants: { main: "json", far }, padding: 600_000, steps },
];

export const EXAMPLES: readonly (readonly [string, Sequence])[] = [
  of(
    "what a period held comes between two rows in flight",
    "everyS",
    store(0, 3),
    store(6, 4, 1),
    lease("far", "backlog"),
    store(2),
    settle("far", "sent"),
  ),
  of(
    "stored readings of a new uplink come between two rows in flight",
    "absent",
    store(7, 8),
    configure("far", "json"),
    store(6),
    store(9),
    store(11),
    lease("far", "backlog"),
    retain,
    settle("far", "sent"),
  ),
  of(
    "old backlog is dropped while its uplink leaves",
    "maxAge",
    MANY,
    pass(300),
    beginPass,
    configure("far", "absent"),
  ),
  of(
    "old backlog is dropped while its format changes",
    "maxAge",
    MANY,
    pass(300),
    beginPass,
    configure("far", "sparkplug"),
  ),
  of(
    "the format changes while stored readings are queued",
    "absent",
    store(0, 7, 11),
    configure("far", "json"),
    beginPass,
    configure("far", "sparkplug"),
  ),
  of(
    "a parked message becomes the candidate before another one",
    "json",
    store(3),
    lease("far", "live"),
    settle("far", "oversize"),
    store(1),
    lease("far", "backlog"),
  ),
  of(
    "held readings of an uplink that holds no longer",
    "everyS",
    store(0),
    configure("far", "json"),
  ),
  of("held readings of an uplink that is removed", "everyS", store(0), configure("far", "absent")),
  of(
    "held readings of an uplink that is removed and comes back",
    "everyS",
    store(0),
    configure("far", "absent"),
    configure("far", "everyS"),
    store(4),
    retain,
  ),
  of(
    "an alarm is judged after its reading went",
    "onChange",
    store(3),
    store(6),
    lease("far", "live"),
    lease("far", "backlog"),
    settle("far", "sent"),
    alarm(3),
  ),
  of(
    "an alarm is judged after another reading of its time went",
    "onChange",
    twin(3),
    store(3),
    alarm(3),
  ),
  of(
    "an alarm is judged while stored readings are queued",
    "absent",
    store(3),
    configure("far", "onChange"),
    alarm(3),
    lease("far", "backlog"),
    lease("far", "live"),
    settle("far", "sent"),
    retain,
  ),
  of(
    "the limit of age is taken off after rows were passed",
    "maxAge",
    store(0, 5),
    pass(3),
    lease("far", "backlog"),
    configure("far", "json"),
  ),
  of(
    "a leased row is replaced by a newer one, then acknowledged",
    "liveOnly",
    store(0),
    lease("far", "live"),
    store(1),
    settle("far", "sent"),
  ),
  of(
    "perhaps it arrived, and is then too large",
    "json",
    store(6),
    lease("far", "live"),
    settle("far", "kept"),
    lease("far", "live"),
    settle("far", "oversize"),
    store(2),
    lease("far", "live"),
  ),
  of(
    "an event is too large for a lane of the newest",
    "liveOnly",
    alarm(0),
    lease("far", "live"),
    settle("far", "oversize"),
  ),
  of(
    "a held reading that has not changed, of an uplink that takes changes now",
    "onChange",
    store(0),
    configure("far", "everyS"),
    store(10),
    configure("far", "onChange"),
  ),
  ofLarge(
    "the newest of a period is given up in the step that brings it",
    "everyS",
    store(3, 2, 10, 0),
    store(4),
    ofOther(store(10, 3, 4)),
    ofOther(store(0, 11, 8)),
  ),
  ofLarge(
    "what an uplink leaves out is removed in the step that brings it",
    "onChange",
    store(0),
    store(2),
    twin(0),
    store(6),
    configure("main", "absent"),
    store(1),
    ofOther(store(1, 10)),
    ofOther(store(0, 11, 2, 5)),
  ),
  ofLarge(
    "what was given up is brought again to an uplink that is new",
    "absent",
    ofOther(store(5, 1, 11)),
    store(1, 10, 0),
    ofOther(store(0, 4)),
    store(4, 7, 8),
    configure("far", "json"),
    store(4),
  ),
];
