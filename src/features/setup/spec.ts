/** Set-up over HTTP, signed documents, backup and restore: what changes the site file and the uplinks file of a box. */
import { ENVIRONMENT_FLAG } from "../../cli/environment-flag.ts";
import type { Refining } from "../../config/refining.ts";
import type { RawOf, SettingSpec } from "../../config/setting-spec.ts";
import { SETUP_IS_OFF } from "../../http/api-operation.ts";
import type { FeatureSpec } from "../feature.ts";
import { keyFaults } from "./document-keys.ts";
import { FILE_OPERATIONS } from "./file-operations.ts";
import { SIGN_FLAGS } from "./flags.ts";
import { BACKUP, PROBE, RESTORE, SCHEMAS, SETUP, TRY_UPLINK } from "./operations.ts";
import { setupWarnings } from "./warnings.ts";

const SETUP_SETTINGS = {
  CONFIG_PUBLIC_KEY_FILE: {
    type: "path",
    isShownWhole: true,
    doc: "PEM file of Ed25519 public keys. Site and uplinks files signed with one of them are accepted over MQTT; without it, none are.",
  },
  CONFIG_TRIAL_S: {
    type: "integer",
    default: 300,
    minimum: 1,
    maximum: 86_400,
    doc: "Trial time of a signed configuration, s: links and reads must be at least as good as before, or the last good configuration is restored.",
  },
  SETUP_ENABLED: {
    type: "boolean",
    default: false,
    doc: "Set-up pages of the dashboard: site and uplinks file can be changed over HTTP with HTTP_TOKEN. Versions are kept, and every change is audited. The agent can then start without a site file.",
  },
} as const satisfies Record<string, SettingSpec>;

type Raw = RawOf<typeof SETUP_SETTINGS> & {
  readonly HTTP_PORT: string;
  readonly HTTP_TOKEN?: string;
};

function refine(raw: Raw, { warn }: Pick<Refining, "warn">) {
  if (raw.SETUP_ENABLED && raw.HTTP_TOKEN === undefined && raw.HTTP_PORT !== "off")
    warn(
      "SETUP_ENABLED",
      "is on without HTTP_TOKEN: everybody who can open a connection on this machine may change the configuration",
      "set HTTP_TOKEN",
    );
  return {};
}

interface KeySettings {
  readonly configPublicKeyFile: string | null;
}

export const SETUP_SPEC = {
  name: "setup",
  settings: SETUP_SETTINGS,
  refine,
  startsEmpty: ({ SETUP_ENABLED }: Readonly<Record<"SETUP_ENABLED", string>>) =>
    SETUP_ENABLED === "true",
  faults: ({ configPublicKeyFile }: KeySettings) => keyFaults(configPublicKeyFile),
  warnings: setupWarnings,
  async recover(places, warn) {
    return (await import("./interrupted-trial.ts")).recoverAtStart(places, warn);
  },
  takesDocuments: ({ configPublicKeyFile }: KeySettings) => configPublicKeyFile !== null,
  operations: [BACKUP, RESTORE, SETUP, SCHEMAS, PROBE, TRY_UPLINK, ...FILE_OPERATIONS],
  off: SETUP_IS_OFF,
  commands: [
    {
      name: "backup",
      summary: "write site and uplinks files to one document, without secrets",
      details:
        "The document names what is missing: passwords, user names and keys of uplinks. Settings are in it for reading only. Readings, baselines, alarm states,\nversions and the audit log are not. Works while the agent is running and while it is stopped. Exit code 0, or 1 if the files cannot be read.",
      flags: [
        {
          name: "out",
          value: "FILE",
          doc: "write to this new file (mode 0600), or - for stdout; a file is never overwritten",
          required: true,
        },
        ENVIRONMENT_FLAG,
      ],
      examples: ["gateside backup --out plant-7.backup.json"],
      load: () => import("./backup-command.ts"),
    },
    {
      name: "restore",
      summary: "restore site and uplinks files from a backup",
      details:
        "Shows the difference and applies it as set-up does: checked completely, the replaced files kept as versions and, on a running agent, tried: if links or reads get\nworse, the files of before come back. Uplinks whose secrets are missing here are written with enabled: false. On a stopped box, or if the site's name changes,\nthe files are in effect at the next start. Exit code 0, or 1 if the backup is refused.",
      operands: "FILE",
      flags: [
        { name: "dry-run", doc: "only show what would change" },
        {
          name: "site",
          value: "NAME",
          doc: "repeat the site's name to restore a backup of another site",
        },
        ENVIRONMENT_FLAG,
      ],
      examples: [
        "gateside restore plant-7.backup.json --dry-run",
        "gateside restore plant-7.backup.json --site plant-7",
      ],
      load: () => import("./restore-command.ts"),
    },
    {
      name: "sign",
      summary: "create keys and signed configurations for remote boxes",
      details:
        "Prints a document with the site file, the uplinks file or both, signed with Ed25519. Publish it to PREFIX/SITE/agent/cmd/site: an agent that has the\npublic key in CONFIG_PUBLIC_KEY_FILE checks it, applies it, and rolls it back if the trial fails.\nYour user of the broker needs the right to publish there (deploy/mosquitto/rights.sh --operator makes one).\nThe version must be higher than that of the last document the box accepted; by default it is the current time in seconds.",
      flags: SIGN_FLAGS,
      examples: [
        "gateside sign --new-key fleet",
        "gateside sign --key fleet.key.pem --site-file plant-7.json > plant-7.signed.json",
      ],
      load: () => import("./sign-command.ts"),
    },
  ],
  after: {
    settings: {
      CONFIG_PUBLIC_KEY_FILE: "HEARTBEAT_S",
      CONFIG_TRIAL_S: "CONFIG_PUBLIC_KEY_FILE",
      SETUP_ENABLED: "HTTP_USER_HEADER",
    },
    operations: "/api/v1/alarms/{id}/note",
    commands: { backup: "check", restore: "backup", sign: "alarms" },
  },
} as const satisfies FeatureSpec;
