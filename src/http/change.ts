/** Questions that are asked with POST: they change nothing. */
const ASKING_POSTS = new Set([
  "/api/v1/configuration/compare",
  "/api/v1/setup/site/check",
  "/api/v1/setup/uplinks/check",
  "/api/v1/setup/discover/draft",
]);

/** Whatever is not known to be a question counts as a change. */
export function isChange(method: string, path: string): boolean {
  return method !== "GET" && method !== "HEAD" && !ASKING_POSTS.has(path);
}

/**
 * Also what changes nothing and answers with texts from which the secrets of the uplinks file are taken out: whoever writes a guess into
 * such a text sees whether it is one.
 */
export function isRefusedToViewers(method: string, path: string): boolean {
  return isChange(method, path) || path === "/api/v1/setup/uplinks/check";
}
