import type { Model } from "mongoose";
import { zoneName } from "../../../shared/numbering/callee-zones.ts";
import { isTimeZone } from "../../../shared/time/time-zones.ts";
import { settingsOf } from "../plans/call-plans.ts";
import type { ConfigurationDoc } from "./configurations.model.ts";

/** Configurations whose time zone was taken before only names of the tz database were. Which place is meant only a person can say. */

/** Configurations that are listed at a time. */
const MAX_LISTED = 100;
const FIELDS = ["timezone", "inbound_call_timezone"] as const;

/** Lines for people: each configuration with such a zone, and what it is read as; none where there are none. They work on as they did. */
export async function ambiguousZones(model: Model<ConfigurationDoc>): Promise<string[]> {
  const lines: string[] = [];
  const there = model.find({ removed_at: null }, { settings: 1, template_id: 1 }).sort({ _id: 1 });
  for await (const doc of there.lean<ConfigurationDoc[]>().cursor()) {
    const settings = settingsOf(doc);
    for (const field of FIELDS) {
      const zone = settings[field];
      if (zone !== undefined && !isTimeZone(zone))
        lines.push(`  ${doc._id}, template ${doc.template_id}: ${field} "${zone}" is read as ${zoneName(zone)}`);
    }
  }
  if (lines.length === 0) return [];
  const more = lines.length > MAX_LISTED ? [`  … and ${lines.length - MAX_LISTED} more`] : [];
  return [
    "configurations: these have a time zone that may mean several places; they work on as they did, and are refused when they are changed until it is a place such as Europe/London:",
    ...lines.slice(0, MAX_LISTED),
    ...more,
    "  Say which is meant with PUT /configurations/{config_id}.",
  ];
}
