import { type Stats, statSync } from "node:fs";
import { dirname } from "node:path";

/**
 * Root acts in another user's directory as that user: what is made there is theirs, and no link of theirs leads root elsewhere. A directory that
 * is to be made belongs to the owner of the one above it. Anybody else, and root in its own directory, acts as before.
 */
export async function asOwnerOf<T>(directory: string, act: () => T | Promise<T>): Promise<T> {
  const owner = ownerOf(directory);
  const { seteuid, setegid, setgroups, getgroups } = process;
  const isRoot = process.geteuid?.() === 0;
  if (!isRoot || !owner || owner.uid === 0 || !seteuid || !setegid || !setgroups || !getgroups)
    return act();
  const groups = getgroups();
  setgroups([owner.gid]);
  setegid(owner.gid);
  seteuid(owner.uid);
  try {
    return await act();
  } finally {
    seteuid(0);
    setegid(0);
    setgroups(groups);
  }
}

function ownerOf(directory: string): Stats | null {
  const above = dirname(directory);
  const found = statSync(directory, { throwIfNoEntry: false });
  return found ?? (above === directory ? null : ownerOf(above));
}
