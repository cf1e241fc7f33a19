import { objectEvent, type ObjectEvent } from "../../../shared/database/object-outbox.ts";
import { recordIn } from "../../../shared/json.ts";
import type { ConfigurationDoc } from "./configurations.model.ts";

/** What of a configuration its events tell. */
type Told = Pick<ConfigurationDoc, "_id" | "reseller_id" | "merchant_id" | "template_id">;

const configurationEvent = (
  at: Date,
  configuration: Told,
  change: "created" | "updated" | "removed",
  fields: readonly string[] = [],
): ObjectEvent =>
  objectEvent("configuration.changed", at, configuration, {
    id: configuration._id,
    change,
    template_id: configuration.template_id,
    fields: [...fields],
  });

const settingsIn = (text: string): Record<string, unknown> => recordIn(text) ?? {};

/** A template was given a configuration: told with the names of what is set in it. */
export const configurationCreated = (configuration: Told & { settings: string }, at: Date): ObjectEvent =>
  configurationEvent(at, configuration, "created", Object.keys(settingsIn(configuration.settings)).sort());

/** A template's configuration is gone. */
export const configurationRemoved = (configuration: Told, at: Date): ObjectEvent =>
  configurationEvent(at, configuration, "removed");

/** A configuration gets other settings (JSON text): told with the names of those that differ. None where none does. */
export function configurationChanged(seen: Told & { settings: string }, settings: string, at: Date): ObjectEvent[] {
  const [before, after] = [settingsIn(seen.settings), settingsIn(settings)];
  const fields = [...new Set([...Object.keys(before), ...Object.keys(after)])]
    .filter((name) => JSON.stringify(before[name]) !== JSON.stringify(after[name]))
    .sort();
  return fields.length === 0 ? [] : [configurationEvent(at, seen, "updated", fields)];
}
