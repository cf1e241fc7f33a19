import type { Clock } from "../../../../shared/clock.ts";
import { resampler } from "../../audio/resampler.ts";
import { failover, type FailoverListener } from "../failover.ts";
import type { SpeechModel } from "../port.ts";

/** The sound of a model at another rate. */
async function* atRate(sound: AsyncIterable<Int16Array>, from: number, to: number): AsyncGenerator<Int16Array> {
  const change = resampler(from, to);
  for await (const pcm of sound) {
    const changed = change.push(pcm);
    if (changed.length > 0) yield changed;
  }
  const last = change.end();
  if (last.length > 0) yield last;
}

/** Speaks through the first model, and through the second where the first fails before its first sound; one that has failed rests. */
export function speechWithFailover(
  first: SpeechModel,
  second: SpeechModel | null,
  clock: Clock,
  resting?: FailoverListener,
): SpeechModel {
  if (second === null) return first;
  const asked = failover(first, second, clock, resting);
  return {
    rate: first.rate,
    signature: `${first.signature} | ${second.signature}`,
    // what waits to be said again is the first one's: it is asked as a rule
    ...(first.warm === undefined ? {} : { warm: (text) => first.warm?.(text) ?? Promise.resolve() }),
    async *speak(text, signal) {
      const models = asked.endpoints();
      for (const [at, model] of models.entries()) {
        let heard = false;
        try {
          const sound = model.speak(text, signal);
          for await (const pcm of model.rate === first.rate ? sound : atRate(sound, model.rate, first.rate)) {
            heard = true;
            yield pcm;
          }
          return;
        } catch (error) {
          asked.failed(model, error);
          if (heard || signal.aborted || at === models.length - 1) throw error;
        }
      }
    },
  };
}
