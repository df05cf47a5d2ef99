/** The queue of sensor settings, and who may use it. */
import type { SettingsOperation, SettingsRequests } from "../../core/command.ts";
import { served } from "../../http/api-operation.ts";
import { isLocalSocket } from "../../http/local-socket.ts";
import { refuse } from "../../http/problem.ts";
import type { Feature } from "../feature.ts";
import type { FeatureHost } from "../host.ts";
import { Dispatcher } from "./dispatcher.ts";
import { createSettingsGateway } from "./settings-gateway.ts";
import { SEND_SETTINGS, SETTINGS_FIELDS } from "./spec.ts";

interface CommandsSettings {
  readonly commandResponsePrefix: string | null;
  readonly commandsEnabled: boolean;
  readonly gatewaySettingsOperation: SettingsOperation;
  readonly httpToken: string | null;
  readonly wireWord: string;
}
type CommandsHost = Pick<
  FeatureHost,
  "addAudit" | "clock" | "commandLog" | "gate" | "logger" | "metrics" | "site" | "whyUnwritable"
> & {
  readonly settings: CommandsSettings;
  readonly gateway: Pick<FeatureHost["gateway"], "post">;
};

const SETTINGS_REFUSED =
  "sensor settings are not accepted over TCP here: set HTTP_TOKEN or COMMANDS_ENABLED=true, or use gateside settings on this machine";

export function createCommands(host: CommandsHost): Feature & SettingsRequests {
  const { settings, whyUnwritable = () => Promise.resolve(null) } = host;
  const dispatcher = new Dispatcher(
    {
      gateway: createSettingsGateway(host.gateway),
      log: host.commandLog,
      clock: host.clock,
      logger: host.logger,
      counter: host.metrics.commands,
      redact: (text) => host.gate.redact(text),
      whyUnwritable,
      audit: host.addAudit,
    },
    {
      site: host.site,
      operation: settings.gatewaySettingsOperation,
      wireWord: settings.wireWord,
      responsePrefix: settings.commandResponsePrefix,
    },
  );
  const mayWriteOverTcp = settings.httpToken !== null || settings.commandsEnabled;
  return {
    serve: [
      served(SEND_SETTINGS, async (request, reply) => {
        if (!mayWriteOverTcp && !isLocalSocket(request))
          return refuse(reply, 403, SETTINGS_REFUSED);
        // 200 for every outcome: `ok` and `outcome` carry it, as over MQTT (contract section 8).
        const result = await dispatcher.execute(request.body);
        request.auditDetail = `${result.outcome}${settingsIn(request.body)}`;
        return reply.send(result);
      }),
    ],
    requests: [
      {
        topic: "saveSettings",
        handle: (message, reply) => dispatcher.handleMessage(message, reply),
      },
    ],
    execute: (request, source, actor) => dispatcher.execute(request, source, actor),
    finish: () => dispatcher.close(),
  };
}

/** The settings that a request names, for the audit log; nothing else of it, which may be anything. */
function settingsIn(body: Readonly<Record<string, unknown>>): string {
  return SETTINGS_FIELDS.filter((name) =>
    /^\s*-?\d+(?:\.\d+)?\s*$/.test(String(body[name]).slice(0, 20)),
  )
    .map((name) => `, ${name} ${String(body[name]).trim()}`)
    .join("");
}
