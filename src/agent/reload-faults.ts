/** Why a reload refuses files that are valid in themselves. */
import type { ConfigurationFault } from "../core/configuration/configuration-fault.ts";
import { isUnnamed } from "../core/configuration/empty-site.ts";
import type { Site } from "../core/site.ts";
import type { Uplink } from "../core/uplink.ts";

/** Its name differs from the running one. */
export function renamed(before: Site, after: Site | null): ConfigurationFault[] {
  if (after === null || after.site === before.site || isUnnamed(before)) return [];
  if (isUnnamed(after))
    return [
      {
        place: "SITE_FILE",
        problem: `is empty, but ${JSON.stringify(before.site)} is running`,
        remedy: "restore the file; the set-up page has the last versions",
      },
    ];
  return [
    {
      place: "SITE_FILE: site",
      problem: `the site's name is ${JSON.stringify(after.site)}, and ${JSON.stringify(before.site)} is running`,
      remedy:
        "restart the agent, because every topic and the client id contain the name; its log then says which retained topics of the old name stay, and how to clear them",
    },
  ];
}

/** With set-up on, a file that is missing or empty counts as one without uplinks, but it takes none away. */
export function lost(running: readonly Uplink[], text: string | null): ConfigurationFault[] {
  if (running.length === 0 || (text ?? "").trim() !== "") return [];
  return [missingUplinks(running.map(({ name }) => name))];
}

export function missingUplinks(names: readonly string[]): ConfigurationFault {
  return {
    place: "UPLINKS_FILE",
    problem: `is missing or empty, but ${names.join(", ")} ${names.length === 1 ? "is" : "are"} in use`,
    remedy: `restore the file, or write { "uplinks": [] } into it to remove them`,
  };
}
