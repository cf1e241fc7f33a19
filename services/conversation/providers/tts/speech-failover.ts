import type { Clock } from "../../../../shared/time/clock.ts";
import { resampler } from "../../audio/resampler.ts";
import { failover, type FailoverListener } from "../failover.ts";
import type { SpeechModel } from "../port.ts";

/** Audio at another rate. */
async function* atRate(audio: AsyncIterable<Int16Array>, from: number, to: number): AsyncGenerator<Int16Array> {
  const change = resampler(from, to);
  for await (const pcm of audio) {
    const changed = change.push(pcm);
    if (changed.length > 0) yield changed;
  }
  const last = change.end();
  if (last.length > 0) yield last;
}

/** Speaks through the first model, or through the second where the first fails before its first audio. */
export function speechWithFailover(
  first: SpeechModel,
  second: SpeechModel | null,
  clock: Clock,
  onFailover?: FailoverListener,
): SpeechModel {
  if (second === null) return first;
  const order = failover(first, second, clock, onFailover);
  return {
    rate: first.rate,
    signature: `${first.signature} | ${second.signature}`,
    // only the first model's cache is warmed: it is asked as a rule
    ...(first.warm === undefined ? {} : { warm: (text) => first.warm?.(text) ?? Promise.resolve() }),
    async *speak(text, signal) {
      const models = order.endpoints();
      for (const [at, model] of models.entries()) {
        let audible = false;
        try {
          const audio = model.speak(text, signal);
          for await (const pcm of model.rate === first.rate ? audio : atRate(audio, model.rate, first.rate)) {
            audible = true;
            yield pcm;
          }
          return;
        } catch (error) {
          order.failed(model, error);
          if (audible || signal.aborted || at === models.length - 1) throw error;
        }
      }
    },
  };
}
