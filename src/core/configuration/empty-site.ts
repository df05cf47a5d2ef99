import type { Site } from "../site.ts";

/** The site of an agent that has no site file yet: no name, so no topics and no sessions. Set-up over HTTP starts from it. */
export const EMPTY_SITE: Site = { site: "", sensors: [] };

/** True before the first site file: the name comes with it. */
export function isUnnamed({ site }: Pick<Site, "site">): boolean {
  return site === EMPTY_SITE.site;
}
