/** Alarms: rules of the site file, built-in ones, learned baselines (plant section 11). */
import type { SettingSpec } from "../../config/setting-spec.ts";
import type { FeatureSpec } from "../feature.ts";
import { ALARMS_FLAGS } from "./flags.ts";
import { ALARMS_OPERATIONS } from "./operations.ts";

const ALARMS_SETTINGS = {
  ALARMS_ENABLED: {
    type: "boolean",
    default: true,
    doc: "Watch readings for alarms: zones, low battery, silence, bad quality, and the rules of the site file.",
  },
} as const satisfies Record<string, SettingSpec>;

export const ALARMS_SPEC = {
  name: "alarms",
  settings: ALARMS_SETTINGS,
  operations: ALARMS_OPERATIONS,
  off: { status: 501, message: "alarms are off: ALARMS_ENABLED is false" },
  publishesAlarms: (settings: { readonly alarmsEnabled: boolean }) => settings.alarmsEnabled,
  commands: [
    {
      name: "alarms",
      summary: "list, acknowledge and shelve alarms of the running agent; show baselines",
      details:
        "By default, lists active, acknowledged and shelved alarms. The list and the events show the ids.\nExit code 0 if no alarm needs attention or the action succeeded; 1 if an alarm needs attention, the agent refuses the action, or no agent responds.",
      flags: ALARMS_FLAGS,
      examples: [
        "gateside alarms",
        'gateside alarms --ack 5f0c3a5e2c9b4d17a6e1f0b2c3d4e5f6 --note "bearing ordered"',
        "gateside alarms --relearn 10234/vibration-change/channel1_vel_rms",
      ],
      load: () => import("./command.ts"),
    },
  ],
  after: {
    settings: "PUBLISH_WAVEFORMS",
    operations: "/api/v1/machines/{id}/findings",
    commands: "rollback",
  },
} as const satisfies FeatureSpec;
