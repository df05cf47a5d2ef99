import type { LinkStatus } from "../agent-status.ts";
import { MAIN_UPLINK } from "../uplink.ts";

/** Identifies a session among those of all uplinks. */
export function linkKey({ uplink, name }: Pick<LinkStatus, "uplink" | "name">): string {
  return `${uplink}/${name}`;
}

/** The name of a link: those of `main` as in 0.1, others by their uplink. */
export function linkTitle(
  { uplink, name }: Pick<LinkStatus, "uplink" | "name">,
  links: readonly Pick<LinkStatus, "uplink" | "name">[],
): string {
  if (uplink === MAIN_UPLINK) return name;
  const isAlone = links.filter((link) => link.uplink === uplink).length < 2;
  return isAlone || name === "mqtt" ? uplink : `${uplink}/${name}`;
}

/** The same for people: beside other uplinks, `main` is named as they are. */
export function uplinkTitle(
  link: Pick<LinkStatus, "uplink" | "name">,
  links: readonly Pick<LinkStatus, "uplink" | "name">[],
): string {
  const { uplink, name } = link;
  if (uplink !== MAIN_UPLINK || links.every((one) => one.uplink === MAIN_UPLINK))
    return linkTitle(link, links);
  return name === "mqtt" ? uplink : `${uplink}/${name}`;
}
