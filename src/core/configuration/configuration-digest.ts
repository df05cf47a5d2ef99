import { createHash, createHmac } from "node:crypto";
import type { Site } from "../site.ts";
import { MAIN_UPLINK, type Uplink } from "../uplink.ts";
import { type PublicUplink, UPLINK_SECRETS, withoutSecrets } from "./configuration.ts";
import { canonicalJson } from "./site-difference.ts";

/** Digits of a configuration id that are shown. */
const SHOWN_DIGITS = 12;

/**
 * The id of a configuration: the first 12 hex digits of the SHA-256 over the canonical JSON (sorted members, no spaces)
 * of `{settings, site, uplinks}`: settings as `check` shows them, without secrets, the site with its defaults filled
 * in, and the uplinks of UPLINKS_FILE without user names, passwords and keys.
 * @param texts of sensors, kept from one configuration to the next
 */
export function configurationDigest(
  settings: Readonly<Record<string, string>>,
  site: Site,
  uplinks: readonly Uplink[],
  texts = new WeakMap<object, string>(),
): string {
  // A renewed certificate is no other configuration.
  const known: PublicUplink[] = uplinks.map(withoutSecrets).map((uplink) => {
    const { digest: _digest, ...tls } = uplink.tls;
    return { ...uplink, tls };
  });
  for (const sensor of site.sensors)
    if (!texts.has(sensor)) texts.set(sensor, canonicalJson(sensor));
  return sha256(canonicalJson({ settings, site, uplinks: known }, texts)).slice(0, SHOWN_DIGITS);
}

export function sha256(text: string): string {
  return createHash("sha256").update(text).digest("hex");
}

/**
 * The same of what uplinks keep secret, by `uplinks.{name}.{member}`. Of `main` only what a reload reads again, from files:
 * the rest are settings.
 */
export function uplinkDigests(nonce: string, uplinks: readonly Uplink[]): Record<string, string> {
  const digests: Record<string, string> = {};
  for (const uplink of uplinks) {
    const fromFiles: { readonly [member in (typeof UPLINK_SECRETS)[number]]?: string } =
      uplink.secretFiles ?? {};
    for (const member of UPLINK_SECRETS) {
      if (uplink.name === MAIN_UPLINK && fromFiles[member] === undefined) continue;
      const name = `uplinks.${uplink.name}.${member}`;
      digests[name] = settingDigest(nonce, name, String(uplink[member] ?? ""));
    }
  }
  return digests;
}

/** Compares settings without revealing them: equal for equal values under one nonce, and of no other use. */
export function settingDigest(nonce: string, name: string, value: string): string {
  return createHmac("sha256", nonce).update(`${name}=${value}`).digest("hex");
}
