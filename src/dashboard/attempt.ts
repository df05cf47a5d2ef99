import { messageOf } from "../core/thrown.ts";

/** A handler whose failure is told where it was pressed. While it runs, pressing again does nothing. */
export function attempt(work: () => Promise<void>, tell: (why: string) => void): () => void {
  let isRunning = false;
  return () => {
    if (isRunning) return;
    isRunning = true;
    tell("");
    work()
      .catch((error: unknown) => tell(messageOf(error)))
      .finally(() => {
        isRunning = false;
      });
  };
}
