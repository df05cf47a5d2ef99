/** The user name and password in an address, `scheme://user:password@host`, and the secrets in these and in headers. */

export interface UrlLogin {
  readonly username: string;
  readonly password: string;
}

/** Decoded; an empty text for the part that is missing, null if both are. */
export function loginOf({ username, password }: URL): UrlLogin | null {
  if (username === "" && password === "") return null;
  return { username: decoded(username), password: decoded(password) };
}

/** The value of an Authorization or Proxy-Authorization header (RFC 7617). */
export function basicAuthorization({ username, password }: UrlLogin): string {
  return `Basic ${Buffer.from(`${username}:${password}`).toString("base64")}`;
}

/** The password of an address as written and decoded, and the Basic and PLAIN credentials made from it. */
export function secretsOfAddress(address: string | null): string[] {
  if (address === null || !URL.canParse(address)) return [];
  const url = new URL(address);
  const { username = "", password = "" } = loginOf(url) ?? {};
  if (password === "") return [];
  return [url.password, password, `${username}:${password}`, `\0${username}\0${password}`];
}

/** Some write a % as it is. */
function decoded(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}

/** A whole value of a header, the credentials after its scheme, and the content of Basic credentials. */
export function secretsOfHeader(value: string): string[] {
  const parts = [value];
  const [, scheme, credentials] = /^([A-Za-z][\w-]*)\s+(\S.*)$/.exec(value) ?? [];
  if (scheme === undefined || credentials === undefined) return parts;
  parts.push(credentials);
  if (scheme.toLowerCase() !== "basic") return parts;
  const pair = Buffer.from(credentials, "base64").toString("utf8");
  const colon = pair.indexOf(":");
  if (colon >= 0) parts.push(pair, pair.slice(colon + 1));
  return parts;
}
