import { dirname } from "node:path";
import { lacksMappedRoom, ROOM_TEXTS, roomTrouble } from "../../../lib/room.ts";
import { StoreFailure } from "./store-failure.ts";

/** A quota refuses: what the disk has free says nothing then. */
export class QuotaFailure extends StoreFailure {}

/** A quota, or a file system without inodes, which SQLite tells as an I/O error: full, with what to do. */
export function withRoom(failure: StoreFailure, path: string): StoreFailure {
  if (failure.code !== "io") return failure;
  const trouble = roomTrouble(dirname(path));
  if (trouble !== "quota" && trouble !== "inodes") return failure;
  const Failure = trouble === "quota" ? QuotaFailure : StoreFailure;
  return new Failure("full", `${failure.message}: ${ROOM_TEXTS[trouble]}`, failure.cause);
}

/** Asked before each transaction. Throws StoreFailure, full, where the transaction could end the process by SIGBUS. */
export function requireMappedRoom(path: string): void {
  if (!lacksMappedRoom(dirname(path))) return;
  const Failure = roomTrouble(dirname(path)) === "space" ? StoreFailure : QuotaFailure;
  throw new Failure(
    "full",
    `no room for ${path}: ${Failure === QuotaFailure ? ROOM_TEXTS.quota : "the disk is full"}`,
  );
}
