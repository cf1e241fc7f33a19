import type { Clock } from "../../../../shared/time/clock.ts";
import type { TemplateRecord } from "../../../../shared/contracts/records/template.ts";
import { render } from "../../../../shared/placeholders.ts";
import { phrasesFor } from "../../../../shared/phrases.ts";
import type { SpeechModel } from "../../providers/port.ts";
import type { ModelChoice } from "../../providers/deployment-models.ts";
import { speakable, spokenText } from "../../../../shared/speakable/speakable-text.ts";

/** Synthesises the certain and probable sentences of a conversation before the answer, so that the caller does not wait. */

/** Sentences asked for at once: conversations under way come first at an endpoint that takes few requests. */
const MOST_AT_ONCE = 4;
/** Longest queue of sentences; a sentence beyond it is synthesised when it is spoken. */
const MOST_WAITING = 400;
/** Fixed texts of one template, at most. */
const MOST_FIXED = 40;
/** Longer texts are not synthesised ahead. */
const MAX_CHARS = 1000;
/**
 * Interval at which the fixed texts of a template are synthesised again: evicted texts return to the cache, and a failing
 * endpoint is left alone in between.
 */
const FIXED_EVERY_MS = 60_000;

type Spoken = Pick<TemplateRecord, "greeting" | "voicemail_message" | "language" | "nodes" | "initial_node">;

/** True when a text reads the same whatever is known, or where all it names is known. */
const isSettled = (text: string, payload: Readonly<Record<string, unknown>> = {}): boolean => {
  const gap = "\u0000";
  return !render(text, [payload], (value) => (value === "" ? gap : value)).includes(gap);
};
/** Each text as TTS output requests it, once. */
const asSaid = (texts: readonly string[]): string[] => [
  ...new Set(texts.map((text) => speakable(text.trim())).filter((text) => text !== "" && text.length <= MAX_CHARS)),
];

/** What the conversation of this payload begins with: the greeting, and the first node's text where it has one. Pure. */
export function openingTexts(
  { greeting, nodes, initial_node }: Spoken,
  payload: Readonly<Record<string, unknown>>,
): string[] {
  const first = nodes.find(({ name }) => name === initial_node)?.say;
  // what the conversation itself has to find out first is not known yet
  const known = first !== undefined && isSettled(first, payload) ? [first] : [];
  return asSaid([greeting ?? "", ...known].map((text) => spokenText(text, [payload])));
}

/** Every fixed text of a template's conversations: the service's own sentences and fillers, and its texts without variables. Pure. */
export function fixedTexts({ greeting, voicemail_message, language, nodes }: Spoken): string[] {
  const own = [greeting, voicemail_message, ...nodes.map(({ say }) => say)].filter((text) => typeof text === "string");
  return asSaid([
    ...Object.values<string | readonly string[]>({ ...phrasesFor(language) }).flat(),
    ...own.filter((text) => isSettled(text)),
  ]).slice(0, MOST_FIXED);
}

/** Dependencies of the warmer. `speech`: the TTS model of a template; it may refuse. */
export interface SpeechCacheWarmerDeps {
  clock: Clock;
  speech(wishes: ModelChoice): SpeechModel;
}

/** Warms the speech of conversations, a few sentences at a time, openings before what may never be said. */
export function speechCacheWarmer({ clock, speech }: SpeechCacheWarmerDeps) {
  const openings = new Map<string, () => Promise<void>>();
  const fixed = new Map<string, () => Promise<void>>();
  const underWay = new Set<string>();
  const lookedAfter = new WeakMap<TemplateRecord, number>();
  let closed = false;

  const next = (): void => {
    while (underWay.size < MOST_AT_ONCE) {
      const queue = openings.size > 0 ? openings : fixed;
      const first = queue.entries().next().value;
      if (first === undefined) return;
      const [key, warm] = first;
      queue.delete(key);
      underWay.add(key);
      void warm()
        .catch(() => undefined)
        .finally(() => {
          underWay.delete(key);
          next();
        });
    }
  };
  const add = (queue: typeof openings, model: SpeechModel, texts: readonly string[]): void => {
    for (const text of texts) {
      const key = `${model.signature}\n${text}`;
      if (openings.size + fixed.size < MOST_WAITING && !underWay.has(key) && !openings.has(key))
        queue.set(key, () => model.warm?.(text) ?? Promise.resolve());
    }
  };
  const isDue = (template: TemplateRecord): boolean => {
    const now = clock.monotonicMs();
    if (now - (lookedAfter.get(template) ?? -Infinity) < FIXED_EVERY_MS) return false;
    lookedAfter.set(template, now);
    return true;
  };

  return {
    /** For a conversation whose speech we synthesise, once it is prepared. Returns at once and never throws. */
    warm(template: TemplateRecord, payload: Readonly<Record<string, unknown>>): void {
      if (closed) return;
      try {
        const model = speech(template);
        if (model.warm === undefined) return;
        add(openings, model, openingTexts(template, payload));
        if (isDue(template)) add(fixed, model, fixedTexts(template));
        next();
      } catch {
        // a deployment that lacks the model says so when the conversation begins
      }
    },
    /** Begins nothing more. */
    close(): void {
      closed = true;
      openings.clear();
      fixed.clear();
    },
  };
}

/** The warmer of a process. */
export type SpeechCacheWarmer = ReturnType<typeof speechCacheWarmer>;
