/** Uplinks files with a secret in a wrong place: each has faults, and no message about it may show the secret. */
export const PLANTED = "hunter2-Pa55";
const CLOUD = { name: "cloud", url: "mqtts://cloud.example:8883" };
const uplink = (more: object) => ({ uplinks: [{ ...CLOUD, ...more }] });

export const ODD_UPLINKS: readonly (readonly [what: string, content: unknown])[] = [
  ["a slip in password", uplink({ passwrd: PLANTED })],
  ["another slip", uplink({ pasword: PLANTED })],
  ["a list of passwords", uplink({ password: [PLANTED] })],
  ["an object", uplink({ auth: { user: "u", deep: [{ password: PLANTED }] } })],
  ["beside the uplinks", { uplinks: [CLOUD], password: PLANTED }],
  ["instead of the list", { uplinks: PLANTED }],
  ["an object instead of the list", { uplinks: { cloud: { ...CLOUD, password: PLANTED } } }],
  ["instead of an uplink", { uplinks: [CLOUD, `mqtts://u:${PLANTED}@cloud.example`] }],
  ["a list instead of an uplink", { uplinks: [[CLOUD, { password: PLANTED }]] }],
  ["a list of addresses", uplink({ url: [`mqtts://u:${PLANTED}@cloud.example`] })],
  ["an address object", uplink({ url: { href: "mqtts://cloud.example", password: PLANTED } })],
  ["an address without a scheme", uplink({ url: `u:${PLANTED}@cloud.example` })],
  ["a token as user of such an address", uplink({ url: `${PLANTED}:x@cloud.example` })],
  ["a password with a slash", uplink({ url: `mqtts://u/${PLANTED}@cloud.example` })],
  ["a password with an at", uplink({ url: `mqtts://u:x@${PLANTED}@cloud.example` })],
  ["a second address", uplink({ url: `mqtts://a.example,mqtts://u:${PLANTED}@b.example` })],
  ["a query", uplink({ url: `mqtts://cloud.example?password=${PLANTED}` })],
  ["a scheme that is none", uplink({ url: `${PLANTED}://cloud.example` })],
  ["a user name of another type", uplink({ username: [PLANTED] })],
  ["a proxy with its password", uplink({ proxy: `http://u:${PLANTED}@proxy.example` })],
  ["a password instead of its proxy", uplink({ proxy: PLANTED })],
  ["a password instead of its file", uplink({ passwordFile: PLANTED })],
  ["a key with a slash instead of its file", uplink({ sasKeyFile: `ab/${PLANTED}==` })],
  ["a PEM text instead of its file", uplink({ keyFile: `-----BEGIN KEY-----\n${PLANTED}` })],
  ["in topics", uplink({ topics: { password: PLANTED } })],
  ["instead of the choice", uplink({ select: PLANTED })],
  ["in the choice", uplink({ select: { kinds: [{ password: PLANTED }] } })],
  ["in sparkplug", uplink({ formats: ["sparkplug"], sparkplug: { password: PLANTED } })],
  ["as a format", uplink({ formats: [PLANTED] })],
  ["as a profile", uplink({ profile: PLANTED, formats: ["plain"] })],
  ["as a number", uplink({ inflight: PLANTED })],
  ["as a flag", uplink({ history: { password: PLANTED } })],
];
