import type { LinkStatus } from "./agent-status.ts";

/** Identifies a session among those of all uplinks. */
export function linkKey({ uplink, name }: Pick<LinkStatus, "uplink" | "name">): string {
  return `${uplink}/${name}`;
}

/** The name of a link: those of `main` as in 0.1, others by their uplink. */
export function linkTitle(
  { uplink, name }: Pick<LinkStatus, "uplink" | "name">,
  links: readonly Pick<LinkStatus, "uplink" | "name">[],
): string {
  if (uplink === "main") return name;
  const isAlone = links.filter((link) => link.uplink === uplink).length < 2;
  return isAlone || name === "mqtt" ? uplink : `${uplink}/${name}`;
}
