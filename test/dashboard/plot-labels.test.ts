/** What a plot writes beside its limits can be read, as the browser paints it. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { pageUntil, skipWithoutBrowser } from "../support/browser.ts";
import { deadlineMs } from "../support/deadline.ts";
import { alarmOf, alarmsOf, openHouse, placeOf, vibration } from "../support/page-house.ts";

/** Keeps each text that is written on a canvas, with its height, each level line, and how many lines came after a label. */
const WATCH = `{
  window.painted = { texts: [], lines: [], marks: 0, late: 0 };
  let isLabelled = false;
  const own = CanvasRenderingContext2D.prototype;
  const { clearRect, fillText, moveTo, lineTo } = own;
  let from = [0, 0];
  own.fillText = function (text, x, y) {
    const { actualBoundingBoxAscent: up, actualBoundingBoxDescent: down } = this.measureText(text);
    painted.texts.push({ text, top: y - up, foot: y + down });
    if (/^[A-D] \\| [A-D]$|^▲/.test(text)) isLabelled = true;
    return fillText.apply(this, arguments);
  };
  own.moveTo = function (x, y) { from = [x, y]; return moveTo.apply(this, arguments); };
  own.clearRect = function () { isLabelled = false; return clearRect.apply(this, arguments); };
  own.lineTo = function (x, y) {
    if (this.getLineDash().length === 0) return lineTo.apply(this, arguments);
    if (y === from[1]) painted.lines.push(y);
    if (x === from[0]) painted.marks += 1;
    if (isLabelled) painted.late += 1;
    return lineTo.apply(this, arguments);
  };
}`;

interface Painted {
  readonly texts: readonly {
    readonly text: string;
    readonly top: number;
    readonly foot: number;
  }[];
  readonly lines: readonly number[];
  readonly marks: number;
  readonly late: number;
}

test("dashboard – in a trend, no label is struck through by a line of a limit or of a mark", {
  skip: skipWithoutBrowser,
  timeout: deadlineMs(60_000),
}, async (t) => {
  const now = Date.now();
  const time = new Date(now - 30 * 60_000).toISOString();
  const event = { ...alarmOf({}), severity: "warning", text: "Zone C.", time, seq: 1 } as const;
  const { alarms } = alarmsOf({ events: [event] });
  const rule = { sensor: "1001", kind: "accel", value: "channel1_vel_rms", unit: "mm/s" };
  const above = { high: 3, highHigh: null, low: null, lowLow: null };
  const limits = () => [{ ...rule, alarm: "our own", severity: "warning", ...above }];
  const { page, url, reading } = await openHouse(t, {
    sensors: [
      {
        code: "1001",
        type: 3,
        kinds: ["accel"],
        channels: {},
        machineClass: "group2-rigid",
        location: placeOf(40),
      },
    ],
    alarms: Object.assign(alarms, { limits }),
  });
  for (let n = 60; n > 0; n--)
    reading(vibration("1001", 2 + 2 * Math.sin(n / 9), "C", now - n * 60_000));
  await page.addInitScript(WATCH);
  await page.goto(`${url}/#/sensor/1001`);
  let seen: Painted = { texts: [], lines: [], marks: 0, late: 0 };
  const labels = () => seen.texts.filter(({ text }) => /^[A-D] \\| [A-D]$|our own/.test(text));
  await pageUntil("the labels of four limits", async () => {
    seen = await page.evaluate<Painted>("painted");
    return new Set(labels().map(({ text }) => text)).size === 4 && seen.marks > 0;
  });
  const lines = [...new Set(seen.lines)];
  for (const { text, top, foot } of labels())
    for (const line of lines)
      assert.ok(line <= top || line >= foot, `${text} of ${top} to ${foot} lies on ${line}`);
  assert.equal(seen.late, 0, "lines after labels");
});
