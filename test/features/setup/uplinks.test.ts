/** The uplinks file over HTTP: its secrets stay in it, and no file is named that the browser has no business with. */
import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import {
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmdirSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { digestOf } from "../../../src/features/setup/backup.ts";
import { ODD_UPLINKS, PLANTED } from "../../support/odd-uplinks.ts";
import { FIRST, openSetup, TOKENS } from "../../support/open-setup.ts";
import { tempDirectory } from "../../support/temp-database.ts";

const SECRETS = ["t0ken-of-the-cloud", "hunter2-in-the-url", "wr0ngly-written-here"];
const CLOUD = {
  name: "cloud",
  url: "mqtts://cloud.example:8883",
  username: SECRETS[0],
  formats: ["json"],
};
const file = (...uplinks: object[]) => ({ uplinks });

test("set-up – user names and other secrets in an uplinks file cannot be read, in the file or its versions", async (t) => {
  const { ask, uplinksPath, uplinks } = openSetup(t, { uplinks: file(CLOUD) });
  const seen: string[] = [];
  const get = async (url: string) => {
    const answer = await ask("GET", url);
    seen.push(answer.text);
    return answer;
  };
  const { body } = await get("uplinks");
  assert.equal(body.content.uplinks[0].username, "********");
  const match = { "if-match": `"${body.hash}"` };
  // What is hidden stays as it is.
  const changed = file({ ...body.content.uplinks[0], inflight: 7 });
  const saved = await ask("PUT", "uplinks", changed, match);
  assert.equal(saved.status, 200, saved.text);
  const onDisk = JSON.parse(readFileSync(uplinksPath, "utf8"));
  assert.deepEqual(onDisk, file({ ...CLOUD, inflight: 7 }));
  assert.deepEqual(
    uplinks.current.map(({ name, inflight, username }) => [name, inflight, username]),
    [["cloud", 7, SECRETS[0]]],
  );
  const { versions } = (await get("uplinks/versions")).body;
  assert.equal(versions.length, 1);
  const version = await get("uplinks/versions/1");
  assert.deepEqual(version.body.changes, ["uplink cloud changes, with a new session: inflight"]);
  assert.ok(!("text" in version.body));
  const back = await ask("POST", "uplinks/versions/1/restore", undefined, {
    "if-match": `"${saved.body.hash}"`,
  });
  assert.equal(back.status, 200, back.text);
  assert.deepEqual(JSON.parse(readFileSync(uplinksPath, "utf8")), file(CLOUD));

  // What somebody wrote there by mistake is no more readable for being a fault.
  const mistaken = { ...CLOUD, url: `mqtts://u:${SECRETS[1]}@cloud.example`, password: SECRETS[2] };
  writeFileSync(uplinksPath, JSON.stringify(file(mistaken, { ...mistaken, name: "b" })));
  const wrong = await get("uplinks");
  const kept = { "if-match": `"${wrong.body.hash}"` };
  for (const content of [wrong.body.content, file(mistaken), file({ ...mistaken, username: 7 })])
    for (const answer of [
      await ask("POST", "uplinks/check", content),
      await ask("PUT", "uplinks", content, kept),
    ])
      seen.push(answer.text);
  seen.push((await ask("PUT", "uplinks", file(), { "if-match": `"${"0".repeat(64)}"` })).text);
  for (const text of seen) for (const secret of SECRETS) assert.ok(!text.includes(secret), text);
});

test("set-up – a secret in the wrong place of either file is hidden, and the rest is shown", async (t) => {
  const { ask, path, uplinksPath } = openSetup(t, { uplinks: file(CLOUD) });
  const viewer = { authorization: `Bearer ${TOKENS.viewToken}` };
  for (const [what, content] of ODD_UPLINKS) {
    writeFileSync(uplinksPath, JSON.stringify(content));
    const seen = await ask("GET", "uplinks", undefined, viewer);
    assert.equal(seen.status, 200);
    const match = { "if-match": `"${seen.body.hash}"` };
    const answers = [
      seen,
      await ask("POST", "uplinks/check", seen.body.content),
      await ask("PUT", "uplinks", seen.body.content, match),
    ];
    for (const { text } of answers) assert.ok(!text.includes(PLANTED), `${what}: ${text}`);
    assert.equal(answers[2]?.status === 200, what === "a second address" || what === "a query");
  }
  // What is not secret is shown, and the query of a WebSocket address stays while nobody touches it.
  const signed = "wss://ws.example/mqtt?X-Signature=0123456789abcdef";
  const ws = { ...CLOUD, url: signed, passwordFile: "sub/none", select: { kinds: ["rpm"] } };
  writeFileSync(uplinksPath, JSON.stringify(file(ws)));
  const { body } = await ask("GET", "uplinks", undefined, viewer);
  const [shown] = body.content.uplinks;
  assert.deepEqual(shown, {
    ...ws,
    url: "wss://ws.example/mqtt",
    username: "********",
    passwordFile: "********",
  });
  const { passwordFile: _gone, ...kept } = shown;
  const match = { "if-match": `"${body.hash}"` };
  assert.equal((await ask("PUT", "uplinks", file({ ...kept, inflight: 7 }), match)).status, 200);
  assert.equal(JSON.parse(readFileSync(uplinksPath, "utf8")).uplinks[0].url, signed);

  writeFileSync(path, JSON.stringify({ site: "plant-7", sensors: [], passwrd: PLANTED }));
  const site = await ask("GET", "site", undefined, viewer);
  assert.deepEqual(site.body.site, { site: "plant-7", sensors: [], passwrd: "********" });
  writeFileSync(path, `{"site": "${PLANTED}`);
  const broken = await ask("GET", "site", undefined, viewer);
  assert.equal(broken.body.isBlank, false);
  for (const { text } of [site, broken]) assert.ok(!text.includes(PLANTED), text);
});

test("set-up – a typed password is written to its own file, takes effect, and is never returned", async (t) => {
  const { ask, directory, uplinksPath, uplinks } = openSetup(t, { uplinks: file() });
  const secrets = join(directory, "data", "configuration", "secrets");
  const [first, second] = ["typed-Pa55word", "typed-again-Pa55"];
  const answers: string[] = [];
  const put = async (uplink: object, status = 200) => {
    const { body } = await ask("GET", "uplinks");
    const match = { "if-match": `"${body.hash}"` };
    for (const answer of [
      await ask("POST", "uplinks/check", file(uplink)),
      await ask("PUT", "uplinks", file(uplink), match),
    ])
      answers.push(answer.text);
    const saved = JSON.parse(answers.at(-1) ?? "");
    assert.equal(saved.error?.status ?? 200, status, answers.at(-1));
    return saved;
  };
  const onDisk = () => JSON.parse(readFileSync(uplinksPath, "utf8")).uplinks[0];
  const shown = async () => {
    const answer = await ask("GET", "uplinks");
    answers.push(answer.text);
    return answer.body.content.uplinks[0];
  };
  const cloud = { name: "cloud", url: "mqtt://127.0.0.1:1", username: "me", version: 4 };
  await put({ ...cloud, password: first });
  assert.equal(uplinks.current[0]?.password, first);
  const { passwordFile } = onDisk();
  assert.equal(readFileSync(passwordFile, "utf8"), `${first}\n`);
  assert.equal(statSync(secrets).mode & 0o777, 0o700);
  assert.ok(!("password" in onDisk()));
  // A file that cannot be read for a while may still name it.
  renameSync(uplinksPath, `${uplinksPath}.aside`);
  mkdirSync(uplinksPath);
  await put({ ...cloud, inflight: "many" }, 422);
  rmdirSync(uplinksPath);
  renameSync(`${uplinksPath}.aside`, uplinksPath);
  assert.equal(readdirSync(secrets).length, 1);
  // Saved again as it is shown, it stays; at another address it has to be typed again.
  await put({ ...(await shown()), inflight: 7 });
  assert.equal(uplinks.current[0]?.password, first);
  const elsewhere = { ...(await shown()), username: "me", url: "mqtt://evil.example" };
  const refused = await put(elsewhere, 422);
  // A proxy reads what is not encrypted.
  await put({ ...(await shown()), username: "me", proxy: "http://evil.example" }, 422);
  assert.deepEqual(
    refused.faults.map(({ place, problem }: Record<string, string>) => [place, problem]),
    [["uplinks[0].password", "was entered for another name or address"]],
  );
  await put({ ...elsewhere, name: "other", passwordFile }, 422);
  // Nor does another uplink get it under another member, beside the one that it belongs to.
  for (const member of ["usernameFile", "caFile"]) {
    const other = { name: "other", url: "mqtts://evil.example", [member]: passwordFile };
    const match = { "if-match": `"${(await ask("GET", "uplinks")).body.hash}"` };
    const beside = await ask("PUT", "uplinks", file(await shown(), other), match);
    assert.equal(beside.status, 422, beside.text);
    assert.equal(beside.body.faults[0].place, `uplinks[1].${member}`);
  }
  assert.equal(readdirSync(secrets).length, 1, "what was refused leaves nothing");
  // Tried before it is saved, under the same rules.
  const tried = await ask("POST", "uplinks/test", { uplink: { ...cloud, password: second } });
  assert.equal(tried.body.addresses[0].ok, false, tried.text);
  assert.equal(readdirSync(secrets).length, 1);
  await put({ ...(await shown()), password: second });
  assert.equal(uplinks.current[0]?.password, second);
  const { hash } = (await ask("GET", "uplinks")).body;
  const back = await ask("POST", "uplinks/versions/1/restore", undefined, {
    "if-match": `"${hash}"`,
  });
  assert.equal(back.status, 200, back.text);
  // As a save leaves it that a power cut ended.
  writeFileSync(join(secrets, `${"0".repeat(32)}.new`), second);
  for (let i = 0; i < 12; i++)
    await put({ name: "none", url: "mqtt://127.0.0.1:1", inflight: 9 + i });
  assert.deepEqual(readdirSync(secrets), [], "no version names them any more");
  for (const text of [...answers, tried.text, back.text, readFileSync(uplinksPath, "utf8")])
    for (const secret of [first, second]) assert.ok(!text.includes(secret), text);
});

test("set-up – no displayed hash lets a view token guess the content of a file", async (t) => {
  const { ask, uplinksPath } = openSetup(t, { uplinks: file(CLOUD) });
  const sha256 = (text: string) => createHash("sha256").update(text).digest("hex");
  const before = readFileSync(uplinksPath, "utf8");
  const { body } = await ask("GET", "uplinks");
  const match = { "if-match": `"${body.hash}"` };
  assert.equal((await ask("PUT", "uplinks", file(), match)).status, 200);
  const { versions } = (await ask("GET", "uplinks/versions")).body;
  assert.match(body.hash, /^[0-9a-f]{64}$/);
  for (const shown of [body.hash, versions[0].hash]) assert.notEqual(shown, sha256(before));
  assert.equal(versions[0].hash, body.hash, "the same text is known again");
  // Nor does a fault, from which secrets are taken out: a right guess in it would come back masked.
  writeFileSync(uplinksPath, before);
  const viewer = { authorization: `Bearer ${TOKENS.viewToken}` };
  const guess = file({ ...CLOUD, username: "********", topicPrefix: `${SECRETS[0]}/#` });
  const refused = await ask("POST", "uplinks/check", guess, viewer);
  assert.equal(refused.status, 403, refused.text);
});

test("set-up – a hidden user name is sent only to the address it was set for", async (t) => {
  const { ask, uplinksPath } = openSetup(t, { uplinks: file(CLOUD) });
  const before = readFileSync(uplinksPath, "utf8");
  const { body } = await ask("GET", "uplinks");
  for (const change of [{ url: "mqtts://evil.example:8883" }, { name: "other" }]) {
    const content = file({ ...body.content.uplinks[0], ...change });
    const saved = await ask("PUT", "uplinks", content, { "if-match": `"${body.hash}"` });
    assert.equal(saved.status, 422);
    assert.deepEqual(
      saved.body.faults.map(({ place }: { place: string }) => place),
      ["uplinks[0].username"],
    );
    const tried = await ask("POST", "uplinks/test", { uplink: content.uplinks[0] });
    assert.equal(tried.status, 422, tried.text);
  }
  assert.equal(readFileSync(uplinksPath, "utf8"), before);
});

test("set-up – only files in the credentials and configuration directories may be named, and none of the agent's own", async (t) => {
  const credentials = tempDirectory(t);
  const outside = join(tempDirectory(t), "secret");
  writeFileSync(outside, "s3cret-of-somebody");
  writeFileSync(join(credentials, "cloud.password"), "p4ss");
  writeFileSync(join(credentials, "http.token"), TOKENS.token);
  const { ask, directory, uplinksPath } = openSetup(t, { uplinks: file(), credentials });
  mkdirSync(join(directory, "sub"));
  writeFileSync(join(directory, "sub", "local.password"), "p4ss");
  writeFileSync(join(directory, "gateside.env"), "HTTP_TOKEN=x");
  symlinkSync(outside, join(directory, "link"));
  symlinkSync("/", join(directory, "root"));
  const uplink = { name: "cloud", url: "mqtts://cloud.example", username: "plant-7" };
  const { body } = await ask("GET", "uplinks");
  const check = async (passwordFile: string) => {
    const content = file({ ...uplink, passwordFile });
    const { body: checked } = await ask("POST", "uplinks/check", content);
    const tried = await ask("POST", "uplinks/test", { uplink: content.uplinks[0] });
    const put = await ask("PUT", "uplinks", content, { "if-match": `"${body.hash}"` });
    const backup = {
      gatesideBackup: 1,
      version: "0.3.0",
      site: "plant-7",
      siteFile: FIRST,
      uplinksFile: content,
      missing: [],
    };
    const made = { ...backup, sha256: digestOf(backup) };
    const restored = await ask("POST", "restore?dryRun=true", made);
    return { faults: checked.faults as { place: string; problem: string }[], tried, put, restored };
  };
  for (const path of [
    outside,
    "../secret",
    "sub/../../secret",
    "/etc/passwd",
    "/dev/zero",
    "/proc/self/environ",
    "link",
    "root/etc/passwd",
    ".",
    "..",
    directory,
    "x\0y",
    `${credentials}x/file`,
  ]) {
    const { faults, tried, put, restored } = await check(path);
    assert.equal(restored.status, 422, path);
    assert.equal(faults.length, 1, `${path}: ${JSON.stringify(faults)}`);
    assert.equal(faults[0]?.place, "uplinks[0].passwordFile");
    assert.match(faults[0]?.problem ?? "", /is outside the allowed directories/, path);
    assert.equal(tried.status, 422, path);
    assert.equal(put.status, 422, path);
  }
  for (const path of [
    join(credentials, "http.token"),
    "gateside.env",
    "headers",
    join(credentials, "mqtt.password"),
    join(credentials, "gateside.alarm.email.url"),
    "./site.json",
    uplinksPath,
    "data/configuration/versions/uplinks-1.json",
    "data/configuration/trial",
    "data/gateside.db",
  ]) {
    const { faults, tried, put, restored } = await check(path);
    assert.equal(restored.status, 422, path);
    assert.match(faults[0]?.problem ?? "", /is one of the agent's own files/, path);
    assert.deepEqual([tried.status, put.status], [422, 422], path);
  }
  // Whatever the unit passes on, by both names; CA certificates are no secrets.
  const unit = readFileSync("systemd/gateside.service", "utf8");
  for (const [, ...names] of unit.matchAll(/^LoadCredential=([^:]+):(\S+)$/gm))
    for (const name of names) {
      const { faults } = await check(join(credentials, name));
      const { problem = "" } = faults.find((one) => one.problem.includes("own files")) ?? {};
      assert.equal(problem === "", name.endsWith(".ca"), name);
    }
  assert.deepEqual((await check("sub/missing")).faults.length, 1, "one that is not there");
  for (const path of ["sub/local.password", "./sub/../sub/local.password"])
    assert.deepEqual((await check(path)).faults, [], path);
  const last = await ask("GET", "uplinks");
  const content = file({ ...uplink, passwordFile: join(credentials, "cloud.password") });
  const saved = await ask("PUT", "uplinks", content, { "if-match": `"${last.body.hash}"` });
  assert.equal(saved.status, 200, saved.text);
});

test("set-up – a path that an administrator wrote into the file may stay", async (t) => {
  const outside = join(tempDirectory(t), "cloud.password");
  writeFileSync(outside, "p4ss");
  const uplink = { ...CLOUD, passwordFile: outside };
  const { ask } = openSetup(t, { uplinks: file(uplink) });
  const { body } = await ask("GET", "uplinks");
  const match = { "if-match": `"${body.hash}"` };
  const shown = body.content.uplinks[0];
  const elsewhere = file({ ...shown, username: "new", url: "mqtts://evil.example" });
  assert.equal((await ask("PUT", "uplinks", elsewhere, match)).status, 422);
  const same = file({ ...shown, history: false });
  assert.equal((await ask("PUT", "uplinks", same, match)).status, 200);
});

test("set-up – without UPLINKS_FILE every response is 404 and says what to set", async (t) => {
  const { ask } = openSetup(t);
  for (const [method, url] of [
    ["GET", "uplinks"],
    ["PUT", "uplinks"],
    ["POST", "uplinks/check"],
    ["GET", "uplinks/versions"],
    ["GET", "uplinks/versions/1"],
    ["POST", "uplinks/versions/1/restore"],
  ] as const) {
    const payload = method === "GET" || url.includes("restore") ? undefined : file();
    const answer = await ask(method, url, payload);
    assert.equal(answer.status, 404, `${method} ${url}`);
    assert.match(answer.text, /UPLINKS_FILE is not set/);
  }
  assert.equal((await ask("GET", "")).body.uplinks, null);
  const tried = await ask("POST", "uplinks/test", { uplink: CLOUD });
  assert.equal(tried.status, 422);
});
