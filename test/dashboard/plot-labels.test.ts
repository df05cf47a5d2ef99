/** What a plot writes beside its limits can be read, as the browser paints it. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { pageUntil, skipWithoutBrowser } from "../support/browser.ts";
import { deadlineMs } from "../support/deadline.ts";
import { alarmsOf, openHouse, placeOf, vibration } from "../support/page-house.ts";

/** Keeps each text that is written on a canvas, with its height, and each level line from its left end on. */
const WATCH = `{
  window.painted = { texts: [], lines: [] };
  const own = CanvasRenderingContext2D.prototype;
  const { fillText, moveTo, lineTo } = own;
  let from = [0, 0];
  own.fillText = function (text, x, y) {
    const { actualBoundingBoxAscent: up, actualBoundingBoxDescent: down } = this.measureText(text);
    painted.texts.push({ text, top: y - up, foot: y + down });
    return fillText.apply(this, arguments);
  };
  own.moveTo = function (x, y) { from = [x, y]; return moveTo.apply(this, arguments); };
  own.lineTo = function (x, y) {
    if (this.getLineDash().length > 0 && y === from[1]) painted.lines.push(y);
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
}

test("dashboard – in a trend, no label of a limit is struck through by a line of the limits", {
  skip: skipWithoutBrowser,
  timeout: deadlineMs(60_000),
}, async (t) => {
  const { alarms } = alarmsOf();
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
  const now = Date.now();
  for (let n = 60; n > 0; n--)
    reading(vibration("1001", 2 + 2 * Math.sin(n / 9), "C", now - n * 60_000));
  await page.addInitScript(WATCH);
  await page.goto(`${url}/#/sensor/1001`);
  let seen: Painted = { texts: [], lines: [] };
  const labels = () => seen.texts.filter(({ text }) => /^[A-D] \\| [A-D]$|our own/.test(text));
  await pageUntil("the labels of four limits", async () => {
    seen = await page.evaluate<Painted>("painted");
    return new Set(labels().map(({ text }) => text)).size === 4;
  });
  const lines = [...new Set(seen.lines)];
  for (const { text, top, foot } of labels())
    for (const line of lines)
      assert.ok(line <= top || line >= foot, `${text} of ${top} to ${foot} lies on ${line}`);
});
