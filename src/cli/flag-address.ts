import { type ParsedAddress, parseAddress } from "../config/checks.ts";
import { UsageError } from "./command.ts";

/** The address in a flag, without its user name and password, and those. A wrong one is not repeated: it may hold a password. */
export function flagAddress(flag: string, text: string): ParsedAddress {
  const faults: string[] = [];
  const address = parseAddress(`--${flag}`, text, ["http", "https"], (fault) => {
    faults.push(`${fault.place} ${fault.problem}; ${fault.remedy}`);
  });
  if (address === null) throw new UsageError(faults.join("; "));
  return address;
}
