import { dirname } from "node:path";
import { ROOM_TEXTS, roomTrouble } from "../../../lib/room.ts";
import { StoreFailure } from "./store-failure.ts";

/** A quota, or a file system without inodes, which SQLite tells as an I/O error: full, with what to do. */
export function withRoom(failure: StoreFailure, path: string): StoreFailure {
  if (failure.code !== "io") return failure;
  const trouble = roomTrouble(dirname(path));
  if (trouble !== "quota" && trouble !== "inodes") return failure;
  return new StoreFailure("full", `${failure.message}: ${ROOM_TEXTS[trouble]}`, failure.cause);
}
