import type { ServiceDeps } from "../../../shared/bus/bus.ts";
import { headerOf } from "../../../shared/tracing/tracer.ts";
import { crashPoint } from "../../../shared/process/crash.ts";
import { MS_PER_SECOND } from "../../../shared/time/clock.ts";
import { taskSet } from "../../../shared/time/deadline.ts";
import { errorForLog } from "../../../shared/process/log.ts";
import type { DeliveryDoc } from "./deliveries.model.ts";
import type { DeliveryQueue } from "./delivery-queue.ts";
import { recordTry } from "../rules/delivery-state-machine.ts";
import type { HostSlots, HostSlot, TryNews } from "../hosts/host-slots.ts";
import type { PauseChange } from "../hosts/host-records.ts";
import { TOTAL_TIMEOUT_MS, type WebhookClient } from "./webhook-request.ts";
import { sentBody } from "../rules/sent-body.ts";
import { sign } from "../rules/webhook-signature.ts";
import { receiverOf } from "../rules/receiver.ts";
import { isHostFailure } from "../rules/host-health.ts";
import { verdictOf, type DeliveryVerdict, type TryResult } from "../rules/delivery-verdict.ts";

/** The lease of a delivery that is sent: longer than a try may last. */
export const LEASE_MS = TOTAL_TIMEOUT_MS + 5000;

/** Where a delivery goes, and the secrets that sign it. */
export interface Addressed {
  url: string;
  secrets: readonly string[];
}

/** A delivery whose lease this process took, and the slot for its request. */
export interface Taken {
  delivery: DeliveryDoc;
  slot: HostSlot;
}

/** What sending a delivery needs. */
export interface SenderDeps extends Pick<ServiceDeps, "clock" | "env" | "log" | "metrics" | "random" | "traces"> {
  deliveries: Pick<DeliveryQueue, "transition">;
  /** null: there is nobody any more whom to send it to; nothing is sent, and nothing written. */
  addressOf(delivery: DeliveryDoc): Promise<Addressed | null>;
  /** Whether a failure of this try ends the delivery, whatever its plan says. Absent: the plan decides. */
  isLast?(delivery: DeliveryDoc, now: Date): boolean;
  /** Runs when a delivery is over and that is written down; what it answers is begun at once, as it is taken already. */
  onEnded?(delivery: DeliveryDoc, delivered: boolean): Promise<Taken | null>;
  client: WebhookClient;
  hosts: HostSlots;
  /** Runs when a request ended and receivers wait for its slot. */
  onRoom(): void;
}

/**
 * Whether the host became well while a request to it failed: it was down when the request began, or has answered another one well while this one waited for its
 * answer. The latter once for each try of the plan: an address that hangs at a host that is well is tried by its plan.
 */
const outlivedBy = ({ began_down, answered_since }: TryNews, result: TryResult, isEarly: boolean): boolean =>
  began_down || (answered_since && result.status === null && !isEarly);

/** Names one try of a delivery in its lead's trace. */
const tryKey = ({ _id, tries }: DeliveryDoc): string => `webhook ${_id} ${tries.length}`;

/** Sends deliveries whose lease this process took. */
export class DeliverySender {
  readonly #deps: SenderDeps;
  readonly #tries = taskSet();

  constructor(deps: SenderDeps) {
    this.#deps = deps;
  }

  /** Begins one try of a delivery and records its result; the slot is released at its end. */
  begin(delivery: DeliveryDoc, slot: HostSlot): void {
    const { hosts, log, onRoom } = this.#deps;
    this.#tries.add(
      this.#send(delivery, slot)
        .catch((error: unknown) =>
          log.error(
            { event: "webhook.failed", delivery_id: delivery._id, ...errorForLog(error) },
            "a try broke off; it is made again when the lease runs out",
          ),
        )
        .finally(() => {
          slot.release();
          if (hosts.anyNext()) onRoom();
        }),
    );
  }

  /** Resolves when no try is under way. */
  drain(): Promise<void> {
    return this.#tries.drain();
  }

  async #send(d: DeliveryDoc, slot: HostSlot): Promise<void> {
    const { clock, deliveries, env, client, hosts, random } = this.#deps;
    const address = await this.#deps.addressOf(d);
    if (address === null) return;
    const body = sentBody(d);
    const [started, now] = [clock.monotonicMs(), clock.now()];
    const timestampSeconds = Math.floor(now.getTime() / MS_PER_SECOND);
    const signature = sign(address.secrets, d._id, timestampSeconds, body);
    const traceparent = headerOf(d.trace, tryKey(d));
    const result = await client.send({ url: address.url, id: d._id, timestampSeconds, signature, body, traceparent });
    const news = slot.answered(result);
    this.#logPause(d, news.pause);
    const isEarly = d.planned_at !== undefined && now < d.planned_at;
    const verdict = verdictOf(
      result,
      {
        tries: this.#deps.isLast?.(d, now) ? Infinity : d.try_count - (d.tries_before ?? 0),
        planned_at: isEarly ? (d.planned_at ?? null) : null,
        says_nothing: isHostFailure(result) && (hosts.isDown(d) || outlivedBy(news, result, isEarly)),
        now: clock.now(),
      },
      random(),
    );
    if (verdict.kind === "delivered") crashPoint(env, "K11");
    await deliveries.transition(recordTry(d, result, verdict, now, Math.round(clock.monotonicMs() - started)));
    this.#logTry(d, result, verdict);
    this.#traceTry(d, result, verdict, now);
    if (verdict.kind === "again" || verdict.kind === "probed") return;
    const next = await this.#deps.onEnded?.(d, verdict.kind === "delivered");
    if (next) this.begin(next.delivery, next.slot);
  }

  #traceTry(d: DeliveryDoc, result: TryResult, verdict: DeliveryVerdict, began: Date): void {
    this.#deps.traces.span(d.trace, {
      name: "webhook.try",
      key: tryKey(d),
      began,
      ended: this.#deps.clock.now(),
      attributes: {
        lead_id: d.lead_id,
        type: d.endpoint?.type ?? "lead.finished",
        verdict: verdict.kind,
        http_status: result.status ?? undefined,
      },
      error: verdict.kind === "delivered" ? undefined : `webhook.${verdict.kind}`,
    });
  }

  #logPause(delivery: DeliveryDoc, change: PauseChange): void {
    const { log } = this.#deps;
    if (!change) return;
    const receiver = receiverOf(delivery);
    if ("ended" in change)
      log.info({ event: "webhook.host_resumed", ...receiver }, "a receiver answers again; its webhook events go out");
    else
      log.warn(
        { event: "webhook.host_paused", ...receiver, pause_ms: Math.round(change.began_ms) },
        "a receiver failed too often in a row; its webhook events wait, and no try is spent",
      );
  }

  #logTry(
    { lead_id, _id: delivery_id, try_count: tries, created_at }: DeliveryDoc,
    result: TryResult,
    verdict: DeliveryVerdict,
  ): void {
    const { clock, log, metrics } = this.#deps;
    metrics.count("callagent_webhook_tries_total", { verdict: verdict.kind });
    if (verdict.kind === "delivered") {
      const age_ms = clock.now().getTime() - created_at.getTime();
      metrics.observe("callagent_webhook_age_seconds", {}, Math.max(0, age_ms) / MS_PER_SECOND);
    }
    const how = { lead_id, delivery_id, tries, status: result.status };
    if (verdict.kind === "delivered") {
      log.info({ event: "webhook.delivered", ...how }, "webhook delivered");
      return;
    }
    // its receiver's pause is in the log
    if (verdict.kind === "probed") return;
    const error = result.status === null ? result.error : null;
    const at = verdict.kind === "again" ? { at: verdict.at } : {};
    log.warn({ event: `webhook.${verdict.kind}`, ...how, error, ...at }, "webhook not delivered");
  }
}
