import NodeCache from "node-cache";
import type { ConfigurationDoc } from "../configurations/configurations.model.ts";
import type { TemplateDoc } from "../templates/templates.model.ts";

/** What a push needs of a template: its head and its configuration, if it has one. */
export interface PushTarget {
  template: TemplateDoc;
  configuration: ConfigurationDoc | undefined;
}

/** Push targets of the last few seconds. A change drops its template at once on every node that hears of it, and within the TTL on any other. */
export interface PushMemory {
  /** What is remembered, else what `read` finds; a template that is not there is asked for again. */
  get(template_id: string, read: () => Promise<PushTarget | null>): Promise<PushTarget | null>;
  forget(template_id: string): void;
}

const TTL_SECONDS = 5;
const MAX_TEMPLATES = 5000;
const SWEEP_SECONDS = 30;

/** An empty memory. */
export function pushMemory(): PushMemory {
  const cache = new NodeCache({ stdTTL: TTL_SECONDS, checkperiod: SWEEP_SECONDS, useClones: false });
  return {
    async get(template_id, read) {
      const key = template_id.toLowerCase();
      const known = cache.get<PushTarget>(key);
      if (known) return known;
      const found = await read();
      if (!found) return null;
      if (cache.getStats().keys >= MAX_TEMPLATES) cache.flushAll();
      cache.set(key, found);
      return found;
    },
    forget: (template_id) => {
      cache.del(template_id.toLowerCase());
    },
  };
}
