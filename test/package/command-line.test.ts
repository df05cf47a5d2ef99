import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import {
  chmodSync,
  chownSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type TestContext, test } from "node:test";
import { parseServiceEnvironment } from "../../src/config/service-environment.ts";

const skip = process.platform === "win32" ? "a shell script" : false;

interface Installed {
  readonly root: string;
  write(path: string, text: string): void;
  run(words: readonly string[], env?: Readonly<Record<string, string>>, uid?: number): Run;
}
interface Run {
  readonly status: number | null;
  readonly stderr: string;
  readonly words: readonly string[];
  readonly env: Readonly<Record<string, string>>;
}

/** packaging/gateside.sh below its own directory, with a program that prints how it was called. */
function install(t: TestContext): Installed {
  const root = mkdtempSync(join(tmpdir(), "gateside-command-"));
  t.after(() => rmSync(root, { recursive: true }));
  for (const path of ["etc/gateside", "etc/credstore", "usr/lib/gateside"])
    mkdirSync(join(root, path), { recursive: true });
  const script = join(root, "gateside");
  const text = readFileSync("packaging/gateside.sh", "utf8");
  writeFileSync(
    script,
    text.replace(/\/(etc|usr\/lib|var\/lib)\/(gateside|credstore)/g, `${root}$&`),
  );
  const node = join(root, "usr/lib/gateside/node");
  writeFileSync(node, `#!/bin/sh\nprintf '%s\\n' "$@"\necho --env\nenv -0\n`);
  chmodSync(node, 0o755);
  return {
    root,
    write: (path, content) => writeFileSync(join(root, path), content),
    run(words, env = {}, uid) {
      const { status, stdout, stderr } = spawnSync("sh", [script, ...words], {
        encoding: "utf8",
        env: { PATH: process.env["PATH"], ...env },
        ...(uid === undefined ? {} : { uid }),
      });
      const [called = "", environment = ""] = stdout.split("--env\n");
      const pairs = environment.split("\0").map((line) => line.split(/=([^]*)/, 2));
      return {
        status,
        stderr,
        // What follows the flags of Node and the program.
        words: called
          .replace(/^[^]*(?:gateside|launch)\.js\n?/, "")
          .trim()
          .split("\n"),
        env: Object.fromEntries(
          pairs.map(([name = "", value = ""]) => [name, value.replaceAll(root, "")]),
        ),
      };
    },
  };
}

test("gateside – an instance without configuration is an error", { skip }, (t) => {
  const installed = install(t);
  const { status, stderr } = installed.run(["@south", "status"]);
  assert.equal(status, 2);
  assert.match(stderr, /\/etc\/gateside\/south\.env does not exist/);
  assert.equal(installed.run(["@../../tmp/x", "status"]).status, 2);
});

test("gateside – reads the service's settings as systemd does, and executes nothing in them", {
  skip,
}, (t) => {
  const installed = install(t);
  installed.write(
    "etc/gateside/gateside.env",
    [
      "# a comment with MQTT_URL=mqtt://comment",
      "; another",
      "",
      "GATEWAY_URL=http://192.0.2.10/a?b=c&d=$(touch x)`id`",
      'SPARKPLUG_GROUP_ID="Plant 7"',
      "SPARKPLUG_NODE_ID='it'",
      "not a setting",
      "1BAD=x",
      "a b=c",
      "EMPTY=",
      "LOG_LEVEL=debug",
    ].join("\n"),
  );
  const { env, words } = installed.run(["check", "--json", "a b"], { GATEWAY_TIMEZONE: "UTC" });
  assert.deepEqual(words, ["check", "--json", "a b"]);
  assert.equal(env["GATEWAY_URL"], "http://192.0.2.10/a?b=c&d=$(touch x)`id`");
  assert.equal(env["SPARKPLUG_GROUP_ID"], "Plant 7");
  assert.equal(env["SPARKPLUG_NODE_ID"], "it");
  assert.equal(env["EMPTY"], "");
  assert.equal(env["LOG_LEVEL"], "debug", "the last line needs no line break");
  assert.equal(env["GATEWAY_TIMEZONE"], "UTC");
  assert.equal(env["MQTT_URL"], undefined);
  assert.equal(env["SITE_FILE"], "/etc/gateside/site.json");
  assert.equal(env["DATA_DIR"], "/var/lib/gateside");
});

test("gateside – blanks, CRLF and a repeated name are read as systemd reads them, and ignored lines are reported", {
  skip,
}, (t) => {
  const installed = install(t);
  const lines = [
    "HTTP_PORT=8090",
    '  SPARKPLUG_GROUP_ID = "Plant 7"  ',
    "export LOG_LEVEL=debug",
    "MQTT_PASSWORD: very=secret",
    "\tMQTT_USERNAME=plant 7\t",
    "HTTP_PORT=8091",
  ];
  installed.write("etc/gateside/gateside.env", `${lines.join("\r\n")}\r\n`);
  const { env, stderr } = installed.run(["check"], { MQTT_USERNAME: "other" });
  assert.equal(env["HTTP_PORT"], "8091");
  assert.equal(env["SPARKPLUG_GROUP_ID"], "Plant 7");
  assert.equal(env["LOG_LEVEL"], undefined);
  assert.equal(env["MQTT_USERNAME"], "other");
  assert.deepEqual(
    [...stderr.matchAll(/gateside\.env:(\d+): is not a NAME=value line/g)].map(([, line]) => line),
    ["3", "4"],
  );
  assert.doesNotMatch(stderr, /secret/);
});

/** Lines of an environment file, and what systemd makes of each: parse_env_file_internal in its src/basic/env-file.c. */
const AS_SYSTEMD: readonly (readonly [text: string, values: Readonly<Record<string, string>>])[] = [
  ["MQTT_USERNAME=PLANT7\\gateside\n", { MQTT_USERNAME: "PLANT7gateside" }],
  ["MQTT_USERNAME=PLANT7\\\\gateside\n", { MQTT_USERNAME: "PLANT7\\gateside" }],
  ["MQTT_PASSWORD=x7\\Qr$9\n", { MQTT_PASSWORD: "x7Qr$9" }],
  ['MQTT_PASSWORD="a\\"b\\\\c\\d"\n', { MQTT_PASSWORD: 'a"b\\c\\d' }],
  ["MQTT_PASSWORD='a\\\"b'\n", { MQTT_PASSWORD: 'a\\"b' }],
  ['SPARKPLUG_GROUP_ID="Plant 7" # comment\n', { SPARKPLUG_GROUP_ID: "Plant 7# comment" }],
  ['GATEWAY_HEADERS={"X-Key":"a","Y":"b"}\n', { GATEWAY_HEADERS: '{"X-Key":"a","Y":"b"}' }],
  ['GATEWAY_HEADERS="{\\"X-Key\\":\\"a\\"}"\n', { GATEWAY_HEADERS: '{"X-Key":"a"}' }],
  ["MQTT_PASSWORD=abc#def\n", { MQTT_PASSWORD: "abc#def" }],
  ["MQTT_CLIENT_ID=box-7 # the one\n", { MQTT_CLIENT_ID: "box-7 # the one" }],
  [
    "SITE_FILE=/etc/gateside/a\\\nb.json\nHTTP_PORT=1\n",
    { SITE_FILE: "/etc/gateside/ab.json", HTTP_PORT: "1" },
  ],
  ["MQTT_PASSWORD='two\nlines'\nHTTP_PORT=1\n", { MQTT_PASSWORD: "two\nlines", HTTP_PORT: "1" }],
  ['MQTT_PASSWORD=a"b"c\n', { MQTT_PASSWORD: 'a"b"c' }],
  ["MQTT_PASSWORD=\"a\"'b'c\n", { MQTT_PASSWORD: "abc" }],
  ["\tMQTT_PASSWORD = it's  \n", { MQTT_PASSWORD: "it's" }],
  ["MQTT_PASSWORD=a\\ \n", { MQTT_PASSWORD: "a " }],
  ["MQTT_PASSWORD=`id`$(id)%h\n", { MQTT_PASSWORD: "`id`$(id)%h" }],
  ["MQTT_PASSWORD=grün\r\nHTTP_PORT=1\r\n", { MQTT_PASSWORD: "grün", HTTP_PORT: "1" }],
  ["MQTT_PASSWORD\n=x\nHTTP_PORT=1\n", { HTTP_PORT: "1" }],
  ["export MQTT_PASSWORD=x\nHTTP_PORT=1", { HTTP_PORT: "1" }],
  ["MQTT_PASSWORD=a\nMQTT_PASSWORD=b\n", { MQTT_PASSWORD: "b" }],
  ["MQTT_PASSWORD=\nHTTP_PORT=1\n", { MQTT_PASSWORD: "", HTTP_PORT: "1" }],
  ["# no \\\n;nor \\\nHTTP_PORT=1\n", { HTTP_PORT: "1" }],
];

test("gateside – the command and the running agent read every text of a settings file as systemd does", {
  skip,
}, (t) => {
  const installed = install(t);
  for (const [text, values] of AS_SYSTEMD) {
    assert.deepEqual(parseServiceEnvironment(text), values, JSON.stringify(text));
    installed.write("etc/gateside/gateside.env", text);
    const { env } = installed.run(["status"]);
    const read = Object.fromEntries(Object.keys(values).map((name) => [name, env[name]]));
    assert.deepEqual(read, values, JSON.stringify(text));
  }
});

test("gateside – a backslash that the service leaves out, and a comment that may swallow a line, are told without the value", {
  skip,
}, (t) => {
  const installed = install(t);
  installed.write(
    "etc/gateside/gateside.env",
    "MQTT_USERNAME=PLANT7\\geheim\n# of hall 3 \\\nHTTP_PORT=1\nMQTT_PASSWORD=a\\\\b\n",
  );
  const lines = installed.run(["check"]).stderr.trim().split("\n");
  assert.equal(lines.length, 2, lines.join("\n"));
  assert.match(
    lines[0] ?? "",
    /gateside\.env:1: .* backslash in the value of MQTT_USERNAME; write two/,
  );
  assert.match(lines[1] ?? "", /gateside\.env:2: a comment ends in a backslash/);
  assert.doesNotMatch(lines.join(), /geheim/);
});

test("gateside – the .env file that counts is that of the service's directory, wherever the command runs", {
  skip,
}, (t) => {
  const installed = install(t);
  assert.equal(installed.run(["probe"]).env["GATESIDE_DOTENV"], "/dev/null");
  installed.write("etc/gateside/gateside.env", "");
  assert.equal(installed.run(["probe"]).env["GATESIDE_DOTENV"], "/etc/gateside/.env");
  const own = installed.run(["probe", "--environment", "x.env"]);
  assert.equal(own.env["GATESIDE_DOTENV"], undefined);
});

test("gateside – the environment takes precedence over the file, and --environment ignores the file", {
  skip,
}, (t) => {
  const installed = install(t);
  installed.write("etc/gateside/gateside.env", "LOG_LEVEL=debug\nDATA_DIR=/from/file\n");
  const { env } = installed.run(["check"], { LOG_LEVEL: "warn" });
  assert.equal(env["LOG_LEVEL"], "warn");
  assert.equal(env["DATA_DIR"], "/from/file");
  const other = installed.run(["check", "--environment", "/tmp/other.env"]);
  assert.equal(other.env["LOG_LEVEL"], undefined);
});

test("gateside – an instance has settings, store and secrets of its own", { skip }, (t) => {
  const installed = install(t);
  installed.write("etc/gateside/gateside.env", "LOG_LEVEL=debug\n");
  installed.write("etc/gateside/north.env", "HTTP_PORT=8081\n");
  installed.write("etc/credstore/gateside.mqtt.password", "south\n");
  installed.write("etc/credstore/gateside.north.mqtt.password", "north\n");
  const { env, words } = installed.run(["@north", "status"]);
  assert.deepEqual(words, ["status"]);
  assert.equal(env["LOG_LEVEL"], undefined);
  assert.equal(env["HTTP_PORT"], "8081");
  assert.equal(env["SITE_FILE"], "/etc/gateside/north.site.json");
  assert.equal(env["DATA_DIR"], "/var/lib/gateside/north");
  assert.equal(env["MQTT_PASSWORD"], "north");
});

test("gateside – says where the settings come from that it passes on, names alone", {
  skip,
}, (t) => {
  const installed = install(t);
  installed.write("etc/gateside/gateside.env", "LOG_LEVEL=debug\nHTTP_PORT=8081\n");
  installed.write("etc/credstore/gateside.mqtt.password", "geheim\n");
  installed.write("etc/credstore/gateside.mqtt.ca", "PEM\n");
  const { env } = installed.run(["check"], { HTTP_PORT: "8082" });
  assert.deepEqual(env["GATESIDE_ORIGINS"]?.trim().split("\n"), [
    "LOG_LEVEL=/etc/gateside/gateside.env",
    "MQTT_PASSWORD=credential",
    "MQTT_CA_FILE=credential",
  ]);
});

test("gateside – a credential that no unit reads, and a setting with two values, are told", {
  skip,
}, (t) => {
  const installed = install(t);
  const env = "etc/gateside/gateside.env";
  installed.write(
    env,
    "HTTP_TOKEN=geheim-1\nLOG_LEVEL=warn\nHTTP_TOKEN=geheim-2\nLOG_LEVEL=warn\n",
  );
  installed.write("etc/credstore/gateside.mqtt.pasword", "geheim\n");
  installed.write("etc/credstore/gateside.north.mqtt.password", "geheim\n");
  const { stderr } = installed.run(["check"]);
  const lines = stderr.trim().split("\n");
  assert.equal(lines.length, 2, stderr);
  assert.match(lines[0] ?? "", /gateside\.env:3: sets HTTP_TOKEN to another value/);
  assert.match(lines[1] ?? "", /gateside\.mqtt\.pasword: no unit reads a credential of this name/);
  assert.doesNotMatch(stderr, /geheim/);
  assert.doesNotMatch(installed.run(["status"]).stderr, /pasword/);
});

test("gateside – a secret that is set is not replaced by the service's credential", {
  skip,
}, (t) => {
  const installed = install(t);
  installed.write("etc/gateside/gateside.env", "HTTP_TOKEN_FILE=/elsewhere\nMQTT_PASSWORD=own\n");
  installed.write("etc/credstore/gateside.mqtt.password", "credential\n");
  installed.write("etc/credstore/gateside.http.token", "credential\n");
  installed.write("etc/credstore/gateside.gateway.headers", '{"A":"b"}\n');
  const { env } = installed.run(["check"]);
  assert.equal(env["MQTT_PASSWORD"], "own");
  assert.equal(env["HTTP_TOKEN"], undefined);
  assert.equal(env["GATEWAY_HEADERS"], '{"A":"b"}');
});

test("gateside – who may not read the settings is told to use sudo, not that every setting is missing", {
  skip,
}, (t) => {
  const installed = install(t);
  installed.write("etc/gateside/gateside.env", "LOG_LEVEL=debug\n");
  const isRoot = process.getuid?.() === 0;
  chmodSync(installed.root, 0o755);
  chmodSync(join(installed.root, "etc/gateside"), isRoot ? 0o700 : 0o000);
  const asOther = (word: string, env = {}) =>
    installed.run([word], env, isRoot ? 65_534 : undefined);
  for (const word of ["check", "doctor"]) {
    const { status, stderr, words } = asOther(word);
    assert.deepEqual([status, words], [2, [""]], "the program is not started");
    assert.match(stderr, /^error: only root .* can read .*gateside\.env: use sudo\n$/);
  }
  assert.match(asOther("status").stderr, /^note: only root/);
  assert.deepEqual(asOther("check", { GATEWAY_URL: "http://gateway" }).words, ["check"]);
  chmodSync(join(installed.root, "etc/gateside"), 0o700);
});

test("gateside – commands that write the store or test the settings run as the service user if root starts them", {
  skip,
}, (t) => {
  const installed = install(t);
  const tools = mkdtempSync(join(tmpdir(), "gateside-tools-"));
  t.after(() => rmSync(tools, { recursive: true }));
  // Root on a machine where the service's user exists.
  const tool = (name: string, script: string) => {
    writeFileSync(join(tools, name), `#!/bin/sh\n${script}\n`);
    chmodSync(join(tools, name), 0o755);
  };
  tool("id", "echo 0");
  tool("getent", "exit 0");
  tool(
    "setpriv",
    'CHANGED_USER=$1; while [ "${1#--}" != "$1" ]; do shift; done; export CHANGED_USER; exec "$@"',
  );
  const path = { PATH: `${tools}:${process.env["PATH"]}` };
  for (const word of ["run", "backfill", "settings", "check", "doctor"])
    assert.equal(installed.run([word], path).env["CHANGED_USER"], "--reuid=gateside", word);
  for (const word of ["status", "export"])
    assert.equal(installed.run([word], path).env["CHANGED_USER"], undefined, word);
  const other = join(installed.root, "ssd");
  mkdirSync(other);
  const asOwnerOf = (DATA_DIR: string) =>
    installed.run(["settings"], { ...path, DATA_DIR }).env["CHANGED_USER"];
  assert.equal(asOwnerOf("/elsewhere"), undefined);
  if (process.getuid?.() !== 0) return;
  assert.equal(asOwnerOf(other), undefined, "root's own");
  chownSync(other, 65_534, 65_534);
  assert.equal(asOwnerOf(other), "--reuid=65534");
});

test("packaging/postinst – an upgrade does not fail if an administrator removed gateside.env", {
  skip,
}, (t) => {
  const root = mkdtempSync(join(tmpdir(), "gateside-postinst-"));
  t.after(() => rmSync(root, { recursive: true }));
  for (const path of ["etc/gateside", "var/lib/gateside", "tools"])
    mkdirSync(join(root, path), { recursive: true });
  const text = readFileSync("packaging/postinst", "utf8");
  writeFileSync(join(root, "postinst"), text.replace(/\/(etc|var\/lib|run)\//g, `${root}$&`));
  // The user of the service is there, an owner can be given to what exists, and this machine's units are left alone.
  const tools = {
    getent: "",
    install: "",
    chown: 'shift; exec stat "$@"',
    "deb-systemd-helper": "exit 1",
  };
  for (const [name, script] of Object.entries(tools)) {
    writeFileSync(join(root, "tools", name), `#!/bin/sh\n${script}\n`);
    chmodSync(join(root, "tools", name), 0o755);
  }
  const { status, stderr } = spawnSync("sh", [join(root, "postinst"), "configure", "0.1.0-1"], {
    encoding: "utf8",
    env: { PATH: `${join(root, "tools")}:/usr/bin:/bin` },
  });
  assert.equal(status, 0, stderr);
});

test("packaging – an upgrade never asks: gateside.env is not a conffile, and the live file is created once, from an example", {
  skip,
}, (t) => {
  const recipe = readFileSync("scripts/package.ts", "utf8");
  assert.doesNotMatch(recipe, /conffiles/, "dpkg asks about a conffile that was edited");
  const root = mkdtempSync(join(tmpdir(), "gateside-postinst-"));
  t.after(() => rmSync(root, { recursive: true }));
  for (const path of ["etc", "var/lib", "usr/share/gateside", "tools"])
    mkdirSync(join(root, path), { recursive: true });
  const text = readFileSync("packaging/postinst", "utf8");
  const moved = text.replace(/\/(etc|var\/lib|run|usr\/share)\//g, `${root}$&`);
  writeFileSync(join(root, "postinst"), moved.replaceAll(/-o \w+ -g gateside/g, ""));
  const live = join(root, "etc/gateside/gateside.env");
  for (const [name, script] of Object.entries({
    getent: "",
    chown: "",
    systemctl: "",
    "deb-systemd-helper": "exit 1",
  })) {
    writeFileSync(join(root, "tools", name), `#!/bin/sh\n${script}\n`);
    chmodSync(join(root, "tools", name), 0o755);
  }
  const configure = (example: string, from?: string) => {
    writeFileSync(join(root, "usr/share/gateside/gateside.env"), example);
    const words = ["configure", ...(from === undefined ? [] : [from])];
    const { status, stderr } = spawnSync("sh", [join(root, "postinst"), ...words], {
      encoding: "utf8",
      env: { PATH: `${join(root, "tools")}:/usr/bin:/bin` },
    });
    assert.equal(status, 0, stderr);
  };
  configure("first\n");
  assert.equal(readFileSync(live, "utf8"), "first\n");
  assert.equal(statSync(join(root, "etc/credstore")).mode & 0o777, 0o700);
  writeFileSync(live, "edited\n");
  configure("second\n", "0.1.0-1");
  assert.equal(readFileSync(live, "utf8"), "edited\n");
  rmSync(live);
  configure("second\n", "0.1.0-1");
  assert.equal(existsSync(live), false, "a file that an administrator removed stays away");
});

test("packaging/postrm – a purge goes on where /var/lib/gateside is a mount, which can be emptied but not removed", {
  skip,
}, (t) => {
  const root = mkdtempSync(join(tmpdir(), "gateside-purge-"));
  t.after(() => rmSync(root, { recursive: true }));
  for (const path of ["bin", "var/lib/gateside", "etc/gateside", "etc/systemd/system"])
    mkdirSync(join(root, path), { recursive: true });
  writeFileSync(join(root, "etc/gateside/gateside.env"), "");
  const text = readFileSync("packaging/postrm", "utf8");
  writeFileSync(
    join(root, "postrm"),
    text.replace(/\/(?:run|etc|var\/lib)\/(?:systemd|gateside)/g, `${root}$&`),
  );
  const tool = (name: string, script: string) => {
    writeFileSync(join(root, "bin", name), `#!/bin/sh\n${script}\n`);
    chmodSync(join(root, "bin", name), 0o755);
  };
  tool("rm", 'case "$*" in *lib/gateside) exit 1 ;; *) command -p rm "$@" ;; esac');
  tool("deluser", `touch ${root}/deleted`);
  const { status, stderr } = spawnSync("sh", [join(root, "postrm"), "purge"], {
    encoding: "utf8",
    env: { PATH: `${join(root, "bin")}:${process.env["PATH"]}` },
  });
  assert.equal(status, 0, stderr);
  assert.match(stderr, /lib\/gateside stays: it is a mount/);
  assert.ok(!existsSync(join(root, "etc/gateside")));
  assert.ok(existsSync(join(root, "deleted")), "and the user goes");
});

for (const script of ["gateside.sh", "postinst", "prerm", "postrm"]) {
  test(`packaging/${script} – is a script that sh can read`, { skip }, () => {
    const { status, stderr } = spawnSync("sh", ["-n", join("packaging", script)], {
      encoding: "utf8",
    });
    assert.equal(status, 0, stderr);
  });
}
