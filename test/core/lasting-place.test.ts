import assert from "node:assert/strict";
import { test } from "node:test";
import { whyNotLasting } from "../../src/core/lasting-place.ts";

const EXT4 = "27 1 254:0 / / rw,relatime - ext4 /dev/vda rw";
const TMPFS = "30 25 0:27 / /var/lib/with\\040blank rw shared:5 master:1 - tmpfs tmpfs rw,size=1k";
const RAMFS = "31 25 0:28 / /ram rw - ramfs ramfs rw";
const ZRAM = "32 25 0:29 / /var/log rw - ext4 /dev/zram0 rw";
const overlay = (at: string, upper: string) =>
  `40 1 0:30 / ${at} rw - overlay overlay rw,lowerdir=/l1:/l2,upperdir=${upper},workdir=/w`;

const LASTS: readonly (readonly [path: string, mounts: readonly string[]])[] = [
  ["/var/lib/gateside", [EXT4, TMPFS]],
  ["/var/lib/with blanks", [EXT4, TMPFS]],
  ["/rampart", [EXT4, RAMFS]],
  ["/data", [overlay("/", "/docker/upper"), "41 40 8:1 / /data rw - ext4 /dev/sda1 rw"]],
  ["/srv/data", [EXT4, overlay("/srv", "/disk/upper")]],
  ["/var/lib/with blank/data", [EXT4, TMPFS, TMPFS.replaceAll("tmpfs", "ext4")]],
  ["/data", []],
  ["/data", ["no such line", ""]],
];
const LOST: readonly (readonly [path: string, mounts: readonly string[], why: RegExp])[] = [
  ["/var/lib/with blank/data", [EXT4, TMPFS], /memory \(tmpfs at \/var\/lib\/with blank\)/],
  ["/ram", [EXT4, RAMFS], /memory \(ramfs/],
  ["/var/log/gateside", [EXT4, ZRAM], /memory \(zram/],
  ["/data", [overlay("/", "/docker/upper")], /lost with the container: mount a volume/],
  [
    "/data",
    [EXT4, RAMFS, overlay("/", "/ram/upper")],
    /overlay whose changes are in memory \(ramfs\)/,
  ],
  ["/srv/data", [EXT4, RAMFS, overlay("/srv", "/ram/up\\040per")], /in memory \(ramfs\)/],
];

test("lasting place – a disk, a volume, an overlay on a disk, and what cannot be known", () => {
  for (const [path, mounts] of LASTS)
    assert.equal(whyNotLasting(path, mounts.join("\n")), null, `${path} ${mounts.join()}`);
});

test("lasting place – memory, an overlay on memory, the root of a container", () => {
  for (const [path, mounts, why] of LOST)
    assert.match(whyNotLasting(path, mounts.join("\n")) ?? "", why, path);
});
