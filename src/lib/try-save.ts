import type { Clock, Logger } from "../core/ports.ts";
import { LogPace } from "./log-pace.ts";

/**
 * Returns a function that tells whether the disk has accepted a text; if not, that is logged, once a minute.
 * @param save throws if the disk does not accept it
 */
export function trySave(
  { clock, logger }: { readonly clock: Pick<Clock, "monotonic">; readonly logger: Logger },
  save: (text: string) => void,
  line: string,
): (text: string) => boolean {
  const pace = new LogPace(clock);
  return (text) => {
    try {
      save(text);
      return true;
    } catch (err) {
      const next = pace.next(line);
      if (next !== null) logger.warn({ err, others: next.heldBack }, line);
      return false;
    }
  };
}
