import { queryRoutes } from "../../../src/features/query-service/query-service.ts";
import type { HttpParts } from "../../../src/http/parts.ts";
import { type TestParts, testParts } from "../../support/http-parts.ts";

export const queryParts = (
  change: Partial<HttpParts> = {},
  alarms: Parameters<typeof queryRoutes>[0] = null,
): TestParts => testParts({ routes: [queryRoutes(alarms)], ...change });
