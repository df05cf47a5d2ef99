import type { Finding } from "./finding.ts";

/** End of support of Node's release lines (nodejs.org/en/about/previous-releases). */
const END_OF_SUPPORT: Readonly<Record<number, string>> = {
  20: "2026-04-30",
  22: "2027-04-30",
  24: "2028-04-30",
  26: "2029-04-30",
};
const UPDATE = "docs/operations.md says how to update it without a release of Gateside";

/** Which runtime is in use, and how long it gets security updates. */
export function checkRuntime(
  found: (finding: Finding) => void,
  version: string = process.versions.node,
  nowMs: number = Date.now(),
): void {
  const what = "runtime";
  const end = END_OF_SUPPORT[Number(version.split(".")[0])];
  const name = `Node ${version}, OpenSSL ${process.versions.openssl}`;
  if (end === undefined) {
    found({ what, state: "ok", detail: `${name}; the end of its support is unknown` });
  } else if (nowMs > Date.parse(`${end}T23:59:59Z`)) {
    const detail = `${name}: no security updates since ${end}; ${UPDATE}`;
    found({ what, state: "warning", detail });
  } else found({ what, state: "ok", detail: `${name}; security updates until ${end}` });
}
