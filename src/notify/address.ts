/** Where a message goes, and what names us there. */

/** An address without its `user:password@`, which is sent as Basic. */
export function splitLogin(address: string): {
  readonly target: URL;
  readonly headers: Readonly<Record<string, string>>;
} {
  const target = new URL(address);
  const { username, password } = target;
  target.username = "";
  target.password = "";
  if (username === "" && password === "") return { target, headers: {} };
  const login = Buffer.from(`${decoded(username)}:${decoded(password)}`).toString("base64");
  return { target, headers: { authorization: `Basic ${login}` } };
}

/** Some write a % as it is. */
function decoded(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}
