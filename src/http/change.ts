/** Requests that use POST but change nothing. */
const ASKING_POSTS = new Set([
  "/api/v1/configuration/compare",
  "/api/v1/setup/site/check",
  "/api/v1/setup/uplinks/check",
  "/api/v1/setup/discover/draft",
]);

/** Anything not listed as read-only counts as a change. */
export function isChange(method: string, path: string): boolean {
  return method !== "GET" && method !== "HEAD" && !ASKING_POSTS.has(path);
}

/** Beside texts with secrets removed: backups and lines of the log name addresses and accounts. */
const REFUSED_READS = new Set([
  "/api/v1/setup/uplinks/check",
  "/api/v1/setup/backup",
  "/api/v1/log",
]);

/**
 * Includes requests that change nothing but return texts with the secrets of the uplinks file removed: someone who
 * inserts a guess into such a text would see whether it is a secret.
 */
export function isRefusedToViewers(method: string, path: string): boolean {
  return isChange(method, path) || REFUSED_READS.has(path);
}
