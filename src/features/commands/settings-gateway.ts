import type { SettingsGateway } from "../../core/command.ts";
import {
  SAVE_SETTINGS_REQUEST,
  SETTINGS_OPERATIONS,
  UPDATE_CONFIG_REQUEST,
} from "../../pipeline/wire/names.ts";

/** The part of the gateway client that this needs. */
export interface SettingsPoster {
  post(
    operation: string,
    fields: Readonly<Record<string, unknown>>,
    signal: AbortSignal,
  ): Promise<{ readonly statusNumber: number; readonly description: string }>;
}

/** Converts settings to the fields of the two operations; both always send all of them. */
export function createSettingsGateway(poster: SettingsPoster): SettingsGateway {
  return {
    queueSettings(operation, settings, signal) {
      const isSave = operation === "saveSettings";
      const names = isSave ? SAVE_SETTINGS_REQUEST : UPDATE_CONFIG_REQUEST;
      const [alarm1, alarm2, alarm3] = settings.alarms;
      const fields = {
        ...(isSave ? { [SAVE_SETTINGS_REQUEST.type]: settings.type } : {}),
        // The serial number is an integer here and a text there (services sections 3.7, 3.8); 15 digits are always
        // exact.
        [names.code]: isSave ? Number(settings.code) : settings.code,
        [names.intervalSendData]: settings.intervalSendDataMin,
        [names.range]: settings.rangeG,
        [names.intervalRms]: settings.intervalRmsS,
        [names.alarm1]: alarm1,
        [names.alarm2]: alarm2,
        [names.alarm3]: alarm3,
      };
      const path = isSave ? SETTINGS_OPERATIONS.saveSettings : SETTINGS_OPERATIONS.updateConfig;
      return poster.post(path, fields, signal);
    },
  };
}
