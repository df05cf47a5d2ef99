/** Adds data of the site file to an export: where a value was measured, and its names. */

import { normalCode, type Sensor } from "../core/sensor.ts";
import { type Site } from "../core/site.ts";
import { csvField } from "../core/text/csv.ts";

/** After the original columns, so that scripts which count them keep working. */
export const SITE_COLUMNS =
  "site,name,company_id,area_id,machine_id,point_id,company,area,machine,point";

/** Values of SITE_COLUMNS; empty if the sensor is not in the site file any more, or the file was not read. */
export function siteCells(site: Site | null, code: string): string {
  const { name, location } = sensorOf(site, code) ?? {};
  const { company, area, machine, point, names } = location ?? {};
  return [site?.site, name, company, area, machine, point]
    .concat([names?.company, names?.area, names?.machine, names?.point])
    .map((value) => csvField(value))
    .join(",");
}

/** The same as members of a JSON object, without its braces and with a leading comma; unknown ones are left out. */
export function siteMembers(site: Site | null, code: string): string {
  if (site === null) return "";
  const sensor = sensorOf(site, code);
  const channels = Object.entries(sensor?.channels ?? {}).flatMap(([channel, { name, axis }]) =>
    name === undefined && axis === undefined
      ? []
      : [[channel, { ...(name !== undefined && { name }), ...(axis !== undefined && { axis }) }]],
  );
  const members = JSON.stringify({
    site: site.site,
    ...(sensor?.name !== undefined && { name: sensor.name }),
    ...(sensor?.location !== undefined && { location: sensor.location }),
    ...(channels.length > 0 && { channels: Object.fromEntries(channels) }),
  });
  return `,${members.slice(1, -1)}`;
}

function sensorOf(site: Site | null, code: string): Sensor | undefined {
  return site?.sensors.find((sensor) => normalCode(sensor.code) === normalCode(code));
}
