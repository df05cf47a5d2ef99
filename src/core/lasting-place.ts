/** Whether what is written to a directory is still there after a restart, by `/proc/self/mountinfo`. Pure. */

interface Mount {
  readonly at: string;
  readonly type: string;
  readonly source: string;
  readonly options: string;
}

/** Blanks and the like are octal there. */
const unescaped = (text: string) =>
  text.replace(/\\([0-7]{3})/g, (_, octal: string) =>
    String.fromCharCode(Number.parseInt(octal, 8)),
  );

/** Optional fields end with a single hyphen. */
function mountOf(line: string): Mount[] {
  const [before = "", after = ""] = line.split(" - ");
  const at = before.split(" ")[4];
  const [type, source, options = ""] = after.split(" ");
  if (at === undefined || type === undefined || source === undefined) return [];
  return [{ at: unescaped(at), type, source: unescaped(source), options }];
}

/** The last of several mounts at one place hides the others. */
function holderOf(path: string, mounts: readonly Mount[]): Mount | undefined {
  const holds = ({ at }: Mount) => at === "/" || path === at || path.startsWith(`${at}/`);
  return mounts
    .filter(holds)
    .reduce<Mount | undefined>(
      (best, one) => (best === undefined || one.at.length >= best.at.length ? one : best),
      undefined,
    );
}

function memoryOf(mount: Mount | undefined): string | null {
  if (mount === undefined) return null;
  if (mount.type === "tmpfs" || mount.type === "ramfs") return mount.type;
  return /^\/dev\/zram\d/.test(mount.source) ? "zram" : null;
}

/**
 * Why a directory does not last, as the end of a sentence about it; null if it does, or if that cannot be known.
 * @param path without symbolic links
 * @param mountinfo the content of the file
 */
export function whyNotLasting(path: string, mountinfo: string): string | null {
  const mounts = mountinfo.split("\n").flatMap(mountOf);
  const holder = holderOf(path, mounts);
  if (holder === undefined) return null;
  const memory = memoryOf(holder);
  if (memory !== null)
    return `is in memory (${memory} at ${holder.at}): everything in it is lost when this machine restarts; use a directory on a disk`;
  if (holder.type !== "overlay") return null;
  const upper = /(?:^|,)upperdir=((?:\\.|[^,\\])*)/.exec(holder.options)?.[1];
  const upperMemory = upper === undefined ? null : memoryOf(holderOf(unescaped(upper), mounts));
  if (upperMemory !== null)
    return `is on an overlay whose changes are in memory (${upperMemory}): everything in it is lost when this machine restarts; use a directory on a disk`;
  return holder.at === "/" ? "is lost with the container: mount a volume" : null;
}
