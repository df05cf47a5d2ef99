/** What the system says of a file, in words; the operator reads the path next to it. */
const WORDS: Readonly<Record<string, string>> = {
  ENOENT: "does not exist",
  ENOTDIR: "lies below something that is no directory",
  EISDIR: "is a directory, not a file",
  EACCES: "may not be read by this user",
  EPERM: "may not be read by this user",
  ELOOP: "is a link that leads back to itself",
  ENAMETOOLONG: "is too long for a file name",
  EMFILE: "cannot be opened: this process has too many files open",
  EIO: "cannot be read: the disk fails",
};

/** Goes behind the path: `/etc/site.json does not exist`. Never throws, whatever was thrown. */
export function fileTrouble(error: unknown): string {
  const code: unknown = error instanceof Error ? Reflect.get(error, "code") : null;
  const known = typeof code === "string" ? WORDS[code] : undefined;
  if (known !== undefined) return known;
  const detail =
    typeof code === "string" ? code : error instanceof Error ? error.message : String(error);
  return `cannot be read (${detail})`;
}
