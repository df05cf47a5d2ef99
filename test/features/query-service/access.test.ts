import assert from "node:assert/strict";
import { test } from "node:test";
import { createApp } from "../../../src/http/server.ts";
import { OPTIONS } from "../../support/http-parts.ts";
import { queryParts } from "./query-parts.ts";

const TOKENS = { token: "t0ken-that-may-all", viewToken: "t0ken-that-looks" };
const host = "localhost";

test("query service – the view token can query it, directly and through Login", async (t) => {
  const app = createApp(queryParts(), { ...OPTIONS, ...TOKENS });
  t.after(() => app.close());
  const ask = async (operation: string, payload: object) =>
    (
      await app.inject({
        method: "POST",
        url: `/ApiWeb.svc/${operation}`,
        headers: { host },
        payload,
      })
    ).json();
  assert.equal((await ask("GetUnits", { Token: TOKENS.viewToken }))[0].Key.StatusNumber, 0);
  const login = await ask("Login", { email: "", password: TOKENS.viewToken });
  assert.equal(login[0].Key.StatusNumber, 0);
});

test("query service – below the path of HTTP_PUBLIC_URL too", async (t) => {
  const publicUrls = ["https://gw.plant.example/boxes/7/"];
  const app = createApp(queryParts(), { ...OPTIONS, ...TOKENS, publicUrls });
  t.after(() => app.close());
  const query = { Token: TOKENS.token };
  const units = await app.inject({
    method: "POST",
    url: "/boxes/7/ApiWeb.svc/GetUnits",
    headers: { host: "gw.plant.example" },
    payload: query,
  });
  assert.equal(units.json()[0].Key.StatusNumber, 0);
});

test("query service – wrong passwords and those of the sign-in have one count for each address that a proxy names", async (t) => {
  const trusted = { trustedProxies: ["10.0.0.1"], userHeader: "X-User" };
  const app = createApp(queryParts(), { ...OPTIONS, ...TOKENS, ...trusted });
  t.after(() => app.close());
  const guess = async (from: Record<string, string>, token: string) =>
    (
      await app.inject({
        method: "POST",
        url: "/sign-in",
        headers: { host: "localhost", ...from },
        payload: { token },
        remoteAddress: "10.0.0.1",
      })
    ).statusCode;
  const one = { "x-forwarded-for": "192.0.2.1" };
  for (let i = 0; i < 10; i++) assert.equal(await guess(one, `wrong-${i}`), 401);

  const logIn = async (from: Record<string, string>, password: string) => {
    const headers = { host: "localhost", ...from };
    const payload = { email: "a@b.example", password };
    const login = { method: "POST", url: "/ApiWeb.svc/Login", headers, payload } as const;
    return (await app.inject({ ...login, remoteAddress: "10.0.0.1" })).body;
  };
  // Both ways in take the same secrets, so there is one count.
  assert.match(await logIn(one, "wrong-11"), /too many wrong passwords/);
  const third = { "x-forwarded-for": "192.0.2.3" };
  for (let i = 0; i < 10; i++)
    assert.match(await logIn(third, `wrong-${i}`), /the password is wrong/);
  assert.match(await logIn(third, "wrong-10"), /too many wrong passwords/);
  assert.equal(await guess(third, "wrong-11"), 429);
  assert.match(await logIn({ ...one, "x-user": "bob" }, "wrong"), /the password is wrong/);
});
