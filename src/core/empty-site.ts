import type { Site } from "./sensor.ts";

/** What an agent runs with before anybody has said what there is: no name, so no topics and no sessions. Set-up over HTTP begins with it. */
export const EMPTY_SITE: Site = { site: "", sensors: [] };

/** True before the first site file: the name comes with it. */
export function isUnnamed({ site }: Pick<Site, "site">): boolean {
  return site === EMPTY_SITE.site;
}
