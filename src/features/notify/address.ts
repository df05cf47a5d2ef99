import { basicAuthorization, loginOf } from "../../lib/url-login.ts";

/** An address without its `user:password@`, which is sent as Basic. */
export function splitLogin(address: string): {
  readonly target: URL;
  readonly headers: Readonly<Record<string, string>>;
} {
  const target = new URL(address);
  const login = loginOf(target);
  target.username = "";
  target.password = "";
  return { target, headers: login === null ? {} : { authorization: basicAuthorization(login) } };
}
