import type { FlagSpec } from "../../cli/command.ts";

export const SIGN_FLAGS: readonly FlagSpec[] = [
  {
    name: "new-key",
    value: "NAME",
    doc: "create the key pair NAME.key.pem and NAME.pub.pem instead",
  },
  { name: "key", value: "FILE", doc: "the private key", requiredUnless: "new-key" },
  { name: "site-file", value: "FILE", doc: "site file to send" },
  { name: "uplinks-file", value: "FILE", doc: "uplinks file to send" },
  {
    name: "site",
    value: "NAME",
    doc: "site that the document is for, by default that of the site file",
  },
  { name: "version", value: "N", doc: "version of the document" },
  { name: "days", value: "N", doc: "validity in days", default: "7" },
];
