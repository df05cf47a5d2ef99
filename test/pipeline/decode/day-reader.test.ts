import assert from "node:assert/strict";
import { test } from "node:test";
import { findReject } from "../../../src/core/record/identity.ts";
import { createWireNames } from "../../../src/pipeline/wire/wire-names.ts";
import { envelope, plain, readDay } from "../../support/day-bodies.ts";

const AT = "\\/Date(1743300000000+0200)\\/";
const rpm = (value: string, rest = "") =>
  `{"RPM":${value},"sensor_code":"100200300","time_data":"${AT}"${rest}}`;
const OK = '"Key":{"Description":"OK","StatusNumber":0}';

/** RPM values of a body that must be complete. */
async function rpmsOf(body: string | Uint8Array) {
  const read = await readDay("rpm", body);
  assert.equal(read.result.outcome, "complete", JSON.stringify(read.result));
  return {
    rpms: read.records.map((record) => record.fields.RPM),
    oddities: read.result.oddities,
    rejects: read.rejects,
  };
}

for (const [name, body, oddity] of [
  ["an array of one envelope", envelope(rpm("1")), null],
  ["one envelope", `{${OK},"Value":[${rpm("1")}]}`, "bare_object"],
  ["a wrapped array", `{"getRPMDataResult":[{${OK},"Value":[${rpm("1")}]}]}`, "wrapped_answer"],
  ["a wrapped envelope", `{"GETRPMDATAResult":{${OK},"Value":[${rpm("1")}]}}`, "wrapped_answer"],
  ["Value before Key", `[{"Value":[${rpm("1")}],"Configs":[],${OK}}]`, null],
  ["names in other letter case", `[{"key":{"statusnumber":0},"VALUE":[${rpm("1")}]}]`, null],
  [
    "a status number as text",
    `[{"Key":{"StatusNumber":"0"},"Value":[${rpm("1")}]}]`,
    "status_as_text",
  ],
  ["no Key", `[{"Configs":null,"Value":[${rpm("1")}]}]`, "key_missing"],
  ["Value an object", `[{${OK},"Value":${rpm("1")}}]`, "value_object"],
  ["a byte order mark and white space", `\uFEFF\r\n ${envelope(rpm("1"))}\n`, "bom"],
  [
    "Configs with anything in it",
    `[{"Configs":[{"a":[[1],"]"]}],${OK},"Value":[${rpm("1")}],"More":"[{"}]`,
    null,
  ],
] as const) {
  test(`day reader – accepts ${name}`, async () => {
    const { rpms, oddities } = await rpmsOf(body);
    assert.deepEqual(rpms, [1]);
    if (oddity) assert.ok(oddities[oddity], JSON.stringify(oddities));
  });
}

const ANSWER = `[{"Configs":[],"Key":{"Description":"ä€😀 <&>","StatusNumber":0},"Value":[${rpm("1", ',"name":"ä€😀"')},${rpm("2")}]}]`;
const XML_TEXT = ANSWER.replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll('"', "&quot;");
const asAscii = (text: string) =>
  text.replace(/[^ -~]/g, (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, "0")}`);

for (const [name, body] of [
  ["a JSON string", JSON.stringify(ANSWER)],
  ["a JSON string of ASCII", asAscii(JSON.stringify(ANSWER))],
  [
    "a JSON string in the operation's Result",
    `\uFEFF{ "getRPMDataResult" : ${JSON.stringify(ANSWER)}}`,
  ],
  ["a string with line ends in it", JSON.stringify(`\r\n\t${ANSWER}\n`)],
  [
    "WCF's <string>",
    `<string xmlns="http://schemas.microsoft.com/2003/10/Serialization/">${XML_TEXT}</string>`,
  ],
  ["a document with a <string>", `<?xml version="1.0"?>\r\n<string>&#xD;\n${XML_TEXT}</string>`],
] as const) {
  test(`day reader – accepts the answer as ${name}, cut anywhere`, async () => {
    const wanted = (await readDay("rpm", ANSWER)).records;
    const bytes = Buffer.from(body);
    for (const size of [1, 2, 7, 64, bytes.length]) {
      const cuts = Array.from({ length: Math.ceil(bytes.length / size) }, (_, i) => i * size);
      const read = await readDay("rpm", bytes, { cuts });
      assert.equal(read.result.outcome, "complete", `${size}: ${JSON.stringify(read.result)}`);
      assert.deepEqual(read.records, wanted);
      assert.equal(read.result.oddities["answer_in_text"], 1);
    }
  });
}

test("day reader – shows the message of WCF's error objects", async () => {
  for (const body of [
    `{"Message":"The date is not valid","StackTrace":"at x","ExceptionType":"System.FormatException"}`,
    `{"ExceptionDetail":{"HelpLink":null,"Message":"The date is not valid"},"Message":"internal error"}`,
  ]) {
    const { result } = await readDay("rpm", body);
    assert.ok(result.outcome === "malformed", JSON.stringify(result));
    assert.equal(result.detail, "the service answers with an error: The date is not valid");
  }
});

test("day reader – joins the Values of several envelopes in order", async () => {
  const body = `[{${OK},"Value":[${rpm("1")}]},{"Value":[${rpm("2")},${rpm("3")}],${OK}}]`;
  assert.deepEqual((await rpmsOf(body)).rpms, [1, 2, 3]);
});

for (const [name, body] of [
  ["an empty array", "[]"],
  ["Value an empty array", envelope("")],
  ["Value an array with an empty array", envelope("[ ]")],
  ["Value null", `[{${OK},"Value":null}]`],
  ["Value missing", `[{${OK}}]`],
] as const) {
  test(`day reader – ${name} is a day without records`, async () => {
    const { items, result } = await readDay("rpm", body);
    assert.ok(result.outcome === "complete");
    assert.deepEqual([items.length, result.records, result.checkpoint], [0, 0, null]);
    assert.equal(result.unchanged, true);
  });
}

for (const [name, body, outcome] of [
  ["an empty body", "", "truncated"],
  ["white space alone", " \n", "truncated"],
  ["a page", "<html><body>Sign in</body></html>", "not_json"],
  ["text", "Service unavailable", "not_json"],
  ["null", "null", "not_json"],
  ["16-bit text", Buffer.from(envelope(rpm("1")), "utf16le"), "not_json"],
  ["16-bit text with its mark", Buffer.from(`\uFEFF${envelope(rpm("1"))}`, "utf16le"), "not_json"],
  ["an envelope with neither Key nor Value", "[{}]", "malformed"],
  ["a Key without a number", '[{"Key":{"Description":"OK"},"Value":[]}]', "malformed"],
  ["Value as text", `[{${OK},"Value":"none"}]`, "malformed"],
  ["text after the end", `${envelope("")}x`, "malformed"],
  ["a comma too many", `[{${OK},"Value":[${rpm("1")},]}]`, "malformed"],
  [
    "nesting without end in Configs",
    `[{"Configs":${"[".repeat(40)}${"]".repeat(40)},${OK},"Value":[]}]`,
    "malformed",
  ],
] as const) {
  test(`day reader – ${name} is ${outcome}`, async () => {
    assert.equal((await readDay("rpm", body)).result.outcome, outcome);
  });
}

test("day reader – shows the start of what is not JSON, on one line", async () => {
  const { result } = await readDay("rpm", `<html>\r\n\t<b>Sign in</b>${"x".repeat(500)}`, {
    cuts: [1, 2, 300],
  });
  assert.ok(result.outcome === "not_json");
  assert.equal(result.snippet.length, 200);
  assert.ok(result.snippet.startsWith("<html> <b>Sign in</b>xxx"));
});

test("day reader – a Key that is not 0 makes the response a service status, also after its records", async () => {
  const key = '"Key":{"StatusNumber":503,"Description":"busy"}';
  for (const body of [
    `[{${key},"Value":[]}]`,
    `[{${OK},"Value":[${rpm("1")}]},{"Value":[],${key}}]`,
  ]) {
    const { result } = await readDay("rpm", body);
    assert.ok(result.outcome === "service_status");
    assert.deepEqual([result.statusNumber, result.description], [503, "busy"]);
    assert.equal(result.sawNonZeroKey, true);
  }
  const bare = await readDay("rpm", '{"StatusNumber":9,"Description":"no"}');
  assert.equal(bare.result.outcome, "service_status");
});

test("day reader – reads numbers in any spelling, and never invents one", async () => {
  const spellings = ['"3.5"', '" 3.5 "', '"3,5"', "3.50", "35e-1", '"1,234.5"', '"1,2,3"', '"abc"'];
  const nothing = [
    "NaN",
    "INF",
    "-INF",
    "Infinity",
    "-Infinity",
    '"NaN"',
    '"-INF"',
    "1e999",
    "true",
    "[]",
  ];
  const { records, result } = await readDay(
    "rpm",
    envelope([...spellings, ...nothing].map((value) => rpm(value)).join(",")),
  );
  assert.equal(result.oddities.not_a_number_token, 7);
  const nan = Number.NaN;
  assert.deepEqual(
    records.map((record) => record.fields.RPM),
    [3.5, 3.5, 3.5, 3.5, 3.5, nan, nan, nan, ...nothing.map(() => nan)],
  );
  for (const record of records) {
    assert.equal(record.faults.length, Number.isNaN(record.fields.RPM) ? 1 : 0);
  }
});

test("day reader – null and missing are absent, never 0", async () => {
  const { records } = await readDay("rpm", envelope(`${rpm("null")},{"time_data":"${AT}"}`));
  for (const record of records) assert.ok(!("RPM" in record.fields));
  assert.equal(records[1]?.sensorCode, null);
});

test("day reader – reads booleans in any spelling", async () => {
  const body = envelope(
    `{"input1":true,"input2":0,"input3":"TRUE","input4":"maybe","time_data":"${AT}"}`,
  );
  const { records } = await readDay("dryContact", body);
  assert.deepEqual({ ...records[0]?.fields }, { input1: true, input2: false, input3: true });
  assert.deepEqual(records[0]?.faults, [{ field: "input4", reason: "wrong_type" }]);
});

test("day reader – a bad record affects only itself", async () => {
  const bad = [
    '{"RPM":1,}',
    "17",
    '"text"',
    "null",
    '{"RPM":01}',
    "[1]",
    '{"a":'.repeat(40) + "1" + "}".repeat(40),
  ];
  const read = await readDay("rpm", envelope([rpm("1"), ...bad, rpm("2")].join(",")));
  assert.equal(read.result.outcome, "complete");
  assert.deepEqual(
    read.records.map((record) => record.fields.RPM),
    [1, 2],
  );
  assert.deepEqual(read.rejects, [
    "malformed",
    "not_an_object",
    "not_an_object",
    "not_an_object",
    "malformed",
    "not_an_object",
    "malformed",
  ]);
});

test("day reader – times that are unset, have no zone or are not times are absent", async () => {
  const times = [
    "\\/Date(-62135596800000)\\/",
    "\\/Date(0)\\/",
    "2026-11-20T12:00:00",
    "soon",
    "2026-11-20T12:00:00+01:00",
  ];
  const { records } = await readDay(
    "rpm",
    envelope(times.map((time) => `{"time_data":"${time}"}`).join(",")),
  );
  assert.deepEqual(
    records.map((record) => [record.times.time_data?.ms ?? null, record.faults[0]?.reason]),
    [
      [null, "time_implausible"],
      [null, "time_implausible"],
      [null, "time_without_zone"],
      [null, "bad_time"],
      [Date.UTC(2026, 10, 20, 11), "iso_time"],
    ],
  );
});

test("day reader – a time with its offset as an object is that instant; a record whose only time has no zone is rejected so", async () => {
  const times = [
    `{"DateTime":"\\/Date(1763640000000)\\/","OffsetMinutes":-360}`,
    `{"DateTime":"\\/Date(1763640000000)\\/","OffsetMinutes":900}`,
    `"2026-11-20T12:00:00"`,
  ];
  const { records } = await readDay(
    "rpm",
    envelope(times.map((time) => `{"time_data":${time}}`).join(",")),
  );
  assert.deepEqual(records[0]?.times.time_data, { ms: 1763640000000, offsetMinutes: -360 });
  assert.deepEqual(
    records.map((record) => findReject(record, "10234")?.reason ?? null),
    [null, "no_time", "time_without_zone"],
  );
});

test("day reader – unknown members are kept, and none of them can change one of our objects", async () => {
  const body = envelope(
    rpm("1", ',"__proto__":{"polluted":true},"constructor":NaN,"deep":{"__proto__":[NaN]}'),
  );
  const { records, result } = await readDay("rpm", body);
  assert.equal(({} as Record<string, unknown>).polluted, undefined);
  assert.equal(
    JSON.stringify(records[0]?.extra),
    '{"__proto__":{"polluted":true},"constructor":"NaN","deep":{"__proto__":["NaN"]}}',
  );
  assert.equal(result.oddities.unknown_member, 3);
});

test("day reader – an exact name takes precedence over one in other letter case, in any order", async () => {
  const { records } = await readDay("rpm", envelope(`{"rpm":1,"RPM":2,"Time_Data":"${AT}"}`));
  assert.equal(records[0]?.fields.RPM, 2);
  assert.deepEqual({ ...records[0]?.extra }, { rpm: 1 });
  assert.equal(records[0]?.times.time_data?.ms, 1743300000000);
});

test("day reader – reads fields under the vendor's word and under ours", async () => {
  const names = createWireNames({ word: "acme", service: "x" });
  const body = envelope(
    `{"acme_code":" 0012 ","time_data":"${AT}"},{"sensor_code":12},{"ACME_Code":"12"}`,
  );
  const { records } = await readDay("rpm", body, { names });
  assert.deepEqual(
    records.map((record) => record.sensorCode),
    ["0012", "12", "12"],
  );
});

test("day reader – an acceleration record has every channel, absent where it is not there; others have none", async () => {
  const body = envelope(`{"channel2":[1,2],"time_data":"${AT}"}`);
  const { records } = await readDay("accel", body);
  const states = records[0]?.channels.map(({ state }) => state);
  assert.deepEqual(states, ["absent", "ok", "absent"]);
  const other = await readDay("rpm", envelope(`{"RPM":1,"time_data":"${AT}"}`));
  assert.deepEqual(other.records[0]?.channels, []);
});

test("day reader – channels are complete and exact, or damaged with the reason; never cut or padded", async () => {
  const channels: [string, unknown][] = [
    ["[-32768,32767,0,-0]", [-32_768, 32_767, 0, 0]],
    ["[ 1 ,\n2\t, 3 ]", [1, 2, 3]],
    ['["1", 2.0, "-3.0", 4e1]', [1, 2, -3, 40]],
    ["[]", []],
    ["null", "absent"],
    ["[1,32768]", "sample_out_of_range"],
    ["[1,-32769]", "sample_out_of_range"],
    ["[1,4294967297]", "sample_out_of_range"],
    ["[1,99999999999999999999]", "sample_out_of_range"],
    ["[1,2.5]", "sample_not_integer"],
    ["[1,null]", "sample_not_integer"],
    ["[1,NaN]", "sample_not_integer"],
    ["[[1],2]", "sample_not_integer"],
    ['"1,2"', "not_an_array"],
    ["{}", "not_an_array"],
  ];
  const body = envelope(
    channels.map(([text]) => `{"channel2":${text},"time_data":"${AT}"}`).join(","),
  );
  const { records, rejects } = await readDay("accel", body);
  assert.deepEqual(rejects, []);
  records.forEach((record, index) => {
    const channel = record.channels[1];
    const shown =
      channel?.state === "ok"
        ? [...channel.samples]
        : channel?.state === "damaged"
          ? channel.reason
          : "absent";
    assert.deepEqual(shown, channels[index]?.[1], channels[index]?.[0]);
  });
});

for (const text of [
  "[1,,2]",
  "[1,]",
  "[,1]",
  "[-]",
  "[--1]",
  "[+1]",
  "[01]",
  "[-01]",
  "[1 2]",
  "[1-2]",
  "[1;2]",
  "[1.]",
]) {
  test(`day reader – ${text} is not a valid channel`, async () => {
    const { rejects } = await readDay(
      "accel",
      envelope(`{"channel1":${text},"time_data":"${AT}"}`),
    );
    assert.deepEqual(rejects, ["malformed"]);
  });
}

test("day reader – a record with a channel longer than the limit is rejected, its neighbours are read", async () => {
  for (const long of ["[1,2,3,4]", "[1,2,3.5,4]", '["1","2","3","4"]', "[1,2,3,4,5,6,7,8,9]"]) {
    const body = envelope(`{"channel1":[1,2,3]},{"channel1":${long}},{"channel1":[4,5,6]}`);
    const { records, rejects, result } = await readDay("accel", body, {
      limits: { samplesMax: 3 },
    });
    assert.equal(result.outcome, "complete");
    assert.deepEqual(rejects, ["too_many_samples"]);
    assert.deepEqual(
      records.map(({ channels }) => channels[0]?.state),
      ["ok", "ok"],
    );
  }
});

/** Records that would exhaust the heap of the packages, and the bound that each meets. */
const HOSTILE: readonly (readonly [string, string, () => string])[] = [
  [
    "a million unknown members",
    "too_many_members",
    () => Array.from({ length: 1_000_000 }, (_, n) => `"m${n}":1`).join(","),
  ],
  ["two million empty arrays", "too_many_values", () => `"list":[${"[],".repeat(2_000_000)}[]]`],
  ["a million empty objects", "too_many_values", () => `"list":[${"{},".repeat(1_000_000)}{}]`],
  ["a text of 15 MB", "text_too_long", () => `"note":"${"x".repeat(15_000_000)}"`],
  ["many texts", "text_too_long", () => `"list":[${`"${"y".repeat(5_000)}",`.repeat(1_000)}""]`],
];
for (const kind of ["rpm", "accel"] as const) {
  for (const [name, reason, members] of HOSTILE) {
    test(`day reader – ${name} damage one ${kind} record and no other`, async () => {
      const good = `{"sensor_code":"1","time_data":"${AT}"}`;
      const body = envelope(`${good},{"time_data":"${AT}",${members()}},${good}`);
      const { records, rejects, result } = await readDay(kind, body);
      assert.equal(result.outcome, "complete");
      assert.deepEqual(rejects, [reason]);
      assert.equal(records.length, 2);
    });
  }
}
test("day reader – a record of 4,096 members is read, and one of 4,097 is not", async () => {
  const unknown = (count: number) => Array.from({ length: count }, (_, n) => `,"m${n}":1`).join("");
  const of = (members: number) => `{"sensor_code":"1","time_data":"${AT}"${unknown(members - 2)}}`;
  const { records, rejects } = await readDay("rpm", envelope(`${of(4096)},${of(4097)}`));
  assert.equal(records.length, 1);
  assert.deepEqual(rejects, ["too_many_members"]);
});
test("day reader – a channel of empty arrays, or one named a hundred times, damages only its record", async () => {
  for (const [bad, reason] of [
    [`"channel1":[${"[],".repeat(2_000_000)}1]`, "too_many_samples"],
    [`"channel2":[${"1,".repeat(400_000)}1]`, "too_many_samples"],
    [Array.from({ length: 100 }, () => '"channel1":[1,2]').join(","), "too_many_members"],
  ] as const) {
    const body = envelope(`{${bad}},{"channel1":[1,2]}`);
    const { records, rejects } = await readDay("accel", body);
    assert.deepEqual(rejects, [reason]);
    assert.equal(records.length, 1);
  }
});

test("day reader – a record over the limit fails the read but not its neighbours, in any chunking", async () => {
  const large = rpm("2", `,"note":"${"]}".repeat(300)}","list":[${"[1],".repeat(50)}1]`);
  const body = envelope([rpm("1"), large, rpm("3")].join(","));
  const cuts = Array.from({ length: 200 }, (_, index) => index * 7);
  for (const ends of [[], cuts, [200, 201, 500]]) {
    const { records, rejects, result } = await readDay("rpm", body, {
      cuts: ends,
      limits: { recordBytesMax: 400 },
    });
    assert.equal(result.outcome, "too_large");
    assert.deepEqual(rejects, ["record_too_large"]);
    assert.deepEqual(
      records.map((record) => record.fields.RPM),
      [1, 3],
    );
  }
});

test("day reader – more records than the limit fail the read", async () => {
  const body = envelope([rpm("1"), rpm("2"), rpm("3")].join(","));
  const { records, result } = await readDay("rpm", body, { limits: { recordsMax: 2 } });
  assert.deepEqual([records.length, result.outcome], [2, "too_large"]);
});

test("day reader – a changed order of records is detected at the first of them", async () => {
  const before = await readDay("rpm", envelope([rpm("1"), rpm("2")].join(",")));
  assert.ok(before.result.outcome === "complete");
  const { checkpoint } = before.result;
  const turned = await readDay("rpm", envelope([rpm("3"), rpm("2"), rpm("1")].join(",")), {
    checkpoint,
  });
  assert.equal(turned.result.outcome, "prefix_changed");
  const known = new Set(before.items.map((item) => item.bytesHash));
  const again = await readDay("rpm", envelope([rpm("3"), rpm("2"), rpm("1")].join(",")), {
    isKnownBytes: (hash) => known.has(hash),
  });
  assert.ok(again.result.outcome === "complete");
  assert.deepEqual(
    again.records.map((record) => record.fields.RPM),
    [3],
  );
  assert.deepEqual([again.result.known, again.result.records], [2, 3]);
});

test("day reader – a day that shrank is read again", async () => {
  const before = await readDay("rpm", envelope([rpm("1"), rpm("2")].join(",")));
  assert.ok(before.result.outcome === "complete");
  const { checkpoint } = before.result;
  const { result } = await readDay("rpm", envelope(rpm("1")), { checkpoint });
  assert.equal(result.outcome, "prefix_short");
});

for (const checkpoint of [
  "",
  "{}",
  "[]",
  "null",
  '[1,"rpm acme",5,"ff",5,"ff",1,"afterItem a o1 v"]',
  '[1,"rpm sensor",5,"ff",9,"ff",1,"afterItem a o1 v"]',
  '[1,"rpm sensor",5,"xy",5,"ff",1,"afterItem a o1 v"]',
  '[1,"rpm sensor",5,"ff",5,"ff",1,"colon q"]',
]) {
  test(`day reader – a checkpoint ${JSON.stringify(checkpoint)} of something else reads from the start`, async () => {
    const { records, result } = await readDay("rpm", envelope(rpm("1")), { checkpoint });
    assert.deepEqual([records.length, result.outcome], [1, "complete"]);
  });
}

test("day reader – a checkpoint inside every envelope form continues to its end", async () => {
  const forms = [
    (list: string) => envelope(list),
    (list: string) => `{${OK},"Value":[${list}]}`,
    (list: string) => `{"getRPMDataResult":[{"Value":[${list}],"More":1,${OK}}]}`,
    (list: string) => `[{${OK},"Value":[${rpm("0")}]},{${OK},"Value":[${list}]}]`,
  ];
  for (const form of forms) {
    const before = await readDay("rpm", form(rpm("1")));
    assert.ok(before.result.outcome === "complete");
    const { checkpoint } = before.result;
    const now = await readDay("rpm", form(`${rpm("1")} , ${rpm("2")}`), { checkpoint });
    assert.equal(now.result.outcome, "complete");
    assert.deepEqual(
      now.records.map((record) => plain(record) !== null && record.fields.RPM),
      [2],
    );
    const ended = await readDay("rpm", form(rpm("1")).slice(0, -1), { checkpoint });
    assert.equal(ended.result.outcome, "truncated");
  }
});
