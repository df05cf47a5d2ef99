/** An open container: an array of envelopes, an envelope (or the object around one), or a Value array. */
export interface Frame {
  readonly type: "envelopes" | "envelope" | "items";
  hasKey: boolean;
  hasValue: boolean;
  isWrapper: boolean;
  /** StatusNumber and Description that are not inside a Key. */
  bareStatus: number | null;
  bareDescription: string;
  /** What a server says that answers with an error of its own instead. */
  error: string | null;
}

export function newFrame(type: Frame["type"]): Frame {
  return {
    type,
    hasKey: false,
    hasValue: false,
    isWrapper: false,
    bareStatus: null,
    bareDescription: "",
    error: null,
  };
}

/** The frame in a checkpoint. */
export function markOf(frame: Frame): string {
  if (frame.type === "envelopes") return "a";
  if (frame.type === "items") return "v";
  return `o${(frame.hasKey ? 1 : 0) + (frame.hasValue ? 2 : 0) + (frame.isWrapper ? 4 : 0)}`;
}

/** The frame of a mark; null if the text is not one. */
export function frameFrom(mark: string): Frame | null {
  if (mark === "a") return newFrame("envelopes");
  if (mark === "v") return newFrame("items");
  const flags = /^o([0-7])$/.exec(mark);
  if (!flags) return null;
  const bits = Number(flags[1]);
  return {
    ...newFrame("envelope"),
    hasKey: (bits & 1) !== 0,
    hasValue: (bits & 2) !== 0,
    isWrapper: (bits & 4) !== 0,
  };
}
