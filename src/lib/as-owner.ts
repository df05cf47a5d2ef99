import { statSync } from "node:fs";

/**
 * Root acts in another user's directory as that user: what is made there is theirs, and no link of theirs leads root elsewhere. Anybody else, and
 * root in a directory of its own or in none, acts as before.
 */
export async function asOwnerOf<T>(directory: string, act: () => T | Promise<T>): Promise<T> {
  const owner = statSync(directory, { throwIfNoEntry: false });
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
