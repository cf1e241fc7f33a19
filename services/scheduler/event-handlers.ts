import type { Implementation } from "../../shared/bus.ts";
import { lookAheadMs } from "./stages/scan.ts";
import type { Ticker } from "./pass.ts";
import type { Works } from "./deps.ts";

/** What the scheduler does when it is told of something: forgets what may have changed and looks sooner. Nothing rests on it; a full scan finds all. */
export function hearing(
  { ground, agenda, facts, lineless }: Works,
  ticker: Ticker,
  nudge: () => void,
): NonNullable<Implementation<"scheduler">["events"]> {
  const lookAtAll = (): void => {
    ticker.scanSoon();
    nudge();
  };
  return {
    "lead.queued": ({ queue, due_at }) => {
      if (due_at === null) return;
      const at = Date.parse(due_at);
      if (at > ground.clock.now().getTime() + lookAheadMs(ground.env.SCHEDULER_INTERVAL_MS)) return;
      if (queue === undefined) {
        lookAtAll();
        return;
      }
      agenda.hear(queue, at);
      nudge();
    },
    "numbers.freed": ({ provider }) => {
      lineless.clear();
      facts.forgetLines();
      agenda.freed(provider, ground.clock.now().getTime());
      nudge();
    },
    "config.changed": ({ template_id }) => {
      facts.forgetTemplate(template_id);
      lookAtAll();
    },
    "calling.switched": () => {
      facts.forgetPauses();
      lookAtAll();
    },
  };
}
