import type { Bus } from "../../shared/bus.ts";
import type { Clock } from "../../shared/clock.ts";
import type { Provider } from "../../shared/contracts/configuration.ts";
import type { Env } from "../../shared/env.ts";
import { errorForLog, maskPhone, type Log } from "../../shared/log.ts";
import type { CallDoc } from "./call/calls.model.ts";
import type { Calls } from "./call/calls.repository.ts";
import type { CarrierEvents } from "./call/carrier-events.model.ts";
import type { Carriers } from "./carriers/carrier-registry.ts";
import type { Pause } from "./outbound/carrier-circuit-breaker.ts";
import type { Recorder } from "./recordings/recording-worker.ts";
import type { Recordings } from "./recordings/recordings.repository.ts";
import type { RecordingStores } from "../../shared/storage/recordings.ts";
import type { GrantPace } from "./outbound/permit-pace.ts";
import type { AnswerDocument } from "./carriers/carrier-port.ts";
import type { InboundCalls } from "./inbound/inbound-calls.repository.ts";
import type { PreCheckCaller } from "./outbound/pre-checks/pre-check-client.ts";
import type { Together } from "./outbound/batched-peers.ts";

/** What every part of the dialer stands on. */
export interface Works {
  env: Env;
  clock: Clock;
  log: Log;
  bus: Bus;
  nodeId: string;
  random(): number;
  calls: Calls;
  events: CarrierEvents;
  /** Calls to our numbers, and what this node answered lately. */
  inbound: InboundCalls;
  inboundAnswers: Map<string, Promise<AnswerDocument>>;
  /** Recordings of calls, where they are kept, and who sees to them. */
  recordings: Recordings;
  stores: RecordingStores;
  recorder: Recorder;
  carriers: Carriers;
  /** Carriers that take no calls for a while. */
  pauses: Map<Provider, Pause>;
  grantPace: GrantPace;
  /** Requests of many attempts that go out together. */
  together: Together;
  /** Asks pre-checks. */
  ask: PreCheckCaller;
  background: Background;
  /** Aborted from SIGTERM on. */
  leaving: AbortSignal;
  /** True from SIGTERM on: no phone may ring any more. */
  stopping(): boolean;
}

/** Address under which this provider's callbacks come in. */
export const callbackBase = ({ env }: Pick<Works, "env">, provider: Provider): string =>
  `${env.PUBLIC_HTTP_URL}/carriers/${provider}`;

/** Work that goes on after its action has answered. */
export interface Background {
  /** Starts it; a failure is logged, and the documents bring it up again. */
  run(what: string, work: () => Promise<void>): void;
  /** Resolves when all of it is done, or after `limitMs`. */
  settled(limitMs: number): Promise<void>;
}

/** Background work of this process. */
export function createBackground(log: Log, clock: Clock): Background {
  const running = new Set<Promise<void>>();
  return {
    run(what, work) {
      const task: Promise<void> = work()
        .catch((error: unknown) => {
          log.warn({ error: errorForLog(error) }, `${what} did not finish; the next sweep takes it up`);
        })
        .finally(() => {
          running.delete(task);
        });
      running.add(task);
    },
    async settled(limitMs) {
      const over = new AbortController();
      const all = (async () => {
        while (running.size > 0) await Promise.all(running);
      })();
      await Promise.race([all, clock.wait(limitMs, over.signal)]);
      over.abort();
    },
  };
}

/** The words of a call's road that a person follows in the log. */
export type CallEvent = "call.inbound" | "call.dialling" | "call.ringing" | "call.answered" | "call.ended";

/** Logs a step of a call; the number is masked. */
export function logCall(
  w: Works,
  event: CallEvent,
  call: CallDoc,
  sentence: string,
  more: Record<string, unknown> = {},
): void {
  w.log.info(
    { event, lead_id: call.lead_id, call_ref: call._id, to: maskPhone(call.order?.to ?? ""), ...more },
    sentence,
  );
}
