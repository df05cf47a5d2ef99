import type { TextSink } from "./command.ts";

/** Writes and waits while the reader is behind, so that an export never accumulates in memory. */
export async function writeOut(
  sink: TextSink,
  text: string | Uint8Array,
  signal: AbortSignal,
): Promise<void> {
  if (sink.write(text) || signal.aborted || sink.once === undefined) return;
  await new Promise<void>((resolve) => {
    const done = () => {
      sink.off?.("drain", done);
      sink.off?.("close", done);
      signal.removeEventListener("abort", done);
      resolve();
    };
    sink.once?.("drain", done);
    sink.once?.("close", done);
    signal.addEventListener("abort", done, { once: true });
  });
}
