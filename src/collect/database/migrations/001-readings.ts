import { PARTITIONS } from "./001-readings/partitions.ts";
import { TABLES } from "./001-readings/tables.ts";
import { VIEWS } from "./001-readings/views.ts";

/** The first schema. Never edited once released: what changes is a step of its own; a test holds its digest. */
export const READINGS = `\n${TABLES}${PARTITIONS}${VIEWS}`;
