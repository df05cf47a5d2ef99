import { userInfo } from "node:os";

/** Null for a user without a name, as in a container with `--user 1234`. */
export function userName(): string | null {
  try {
    return userInfo().username;
  } catch {
    return null;
  }
}
