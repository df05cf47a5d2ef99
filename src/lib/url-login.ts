/** The user name and password in an address: `scheme://user:password@host`. */

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
