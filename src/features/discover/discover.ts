/** The search of set-up: its operations are refused while SETUP_ENABLED is false. */
import type { SetupPort } from "../../core/configuration/setup.ts";
import { served } from "../../http/api-operation.ts";
import { refuse, refuseFaulty } from "../../http/problem.ts";
import type { Feature } from "../feature.ts";
import type { FeatureHost } from "../host.ts";
import { Discovery } from "./discovery.ts";
import { DISCOVER, DISCOVERY, DRAFT } from "./spec.ts";

const NO_ADDRESS = {
  place: "url",
  problem: "is not an address",
  remedy: "check its host and its port, which is at most 65535",
} as const;

type DiscoverHost = Pick<FeatureHost, "logger"> & {
  readonly settings: { readonly wireWord: string };
};

export function createDiscover(
  { settings, logger }: DiscoverHost,
  setup: Pick<SetupPort, "site">,
): Feature {
  const discovery = new Discovery({
    wireWord: settings.wireWord,
    site: () => setup.site.read().content,
    logger,
  });
  const ending = new AbortController();
  return {
    serve: [
      served(DISCOVER, (request, reply) => {
        const { wireWord = null, ...login } = request.body;
        // The schema's pattern lets through what is no address, such as port 99999.
        if (!URL.canParse(login.url))
          return refuseFaulty(reply, "there are errors; nothing was tried", [NO_ADDRESS]);
        request.auditDetail = new URL(login.url).host;
        if (!discovery.begin({ ...login, wireWord }, ending.signal))
          return refuse(reply, 409, "a search is already running");
        return reply.code(202).send(discovery.state);
      }),
      served(DISCOVERY, (_request, reply) => reply.send(discovery.state)),
      served(DRAFT, (request, reply) => {
        const { kinds = {}, clamp = null, loop = null } = request.body;
        const draft = discovery.draft({ kinds, clamp, loop });
        if (draft === null) return refuse(reply, 404, "there is no result yet");
        return reply.send(draft);
      }),
    ],
    stopping: () => ending.abort(),
  };
}
