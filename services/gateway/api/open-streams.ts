import type { By } from "../../../shared/contracts/records/identity.ts";
import { fail } from "../../../shared/errors.ts";
import type { Clock } from "../../../shared/time/clock.ts";

/** Streams of events that one tenant may have open at one gateway process; admins count as one tenant. */
export const STREAMS_PER_TENANT = 10;
/** Streams of all tenants at one gateway process. */
const MAX_STREAMS = 500;
/** A client that finds no place comes again after this long. */
const AGAIN_SECONDS = 5;

/** The place of one stream. */
export interface StreamPlace {
  /** The stream looks for events now: what it hears from here on is news. */
  looking(): void;
  /** Resolves when there is news since then, after so many ms, or when the signal aborts. */
  further(ms: number, signal: AbortSignal): Promise<void>;
  /** Gives the place back. */
  leave(): void;
}

/** The streams of events that clients have open at this gateway. */
export interface OpenStreams {
  /** Takes a place for a stream of the asker's tenant. RATE_LIMITED. */
  enter(by: By): StreamPlace;
  /** There are further events: of these resellers, or, where that is not said, of any. */
  published(resellers?: readonly string[]): void;
  /** Aborted when the gateway shuts down. */
  readonly closing: AbortSignal;
  close(): void;
}

const tenantOf = ({ role, reseller_id, merchant_id }: By): string =>
  role === "admin" ? "" : `${reseller_id ?? ""}/${role === "reseller" ? "" : (merchant_id ?? "")}`;

/** Whether a stream has news, and what wakes it. */
interface Listener {
  /** Whose events it hears of; null: of all. */
  reseller_id: string | null;
  news: AbortController;
}

/** No stream is open yet. */
export function openStreams(clock: Clock): OpenStreams {
  const byTenant = new Map<string, number>();
  const over = new AbortController();
  const listeners = new Set<Listener>();
  let all = 0;
  return {
    enter(by) {
      const tenant = tenantOf(by);
      const open = byTenant.get(tenant) ?? 0;
      if (open >= STREAMS_PER_TENANT || all >= MAX_STREAMS)
        fail(
          "RATE_LIMITED",
          open >= STREAMS_PER_TENANT
            ? `Your tenant has ${open} streams of events open here; end one first.`
            : "The gateway has as many streams open as it takes.",
          { retry_after_seconds: AGAIN_SECONDS },
        );
      byTenant.set(tenant, open + 1);
      all++;
      const listener: Listener = {
        reseller_id: by.role === "admin" ? null : (by.reseller_id ?? ""),
        news: new AbortController(),
      };
      listeners.add(listener);
      return {
        looking() {
          if (listener.news.signal.aborted) listener.news = new AbortController();
        },
        further: (ms, signal) => clock.wait(ms, AbortSignal.any([signal, listener.news.signal])),
        leave() {
          if (!listeners.delete(listener)) return;
          all--;
          const rest = (byTenant.get(tenant) ?? 1) - 1;
          if (rest === 0) byTenant.delete(tenant);
          else byTenant.set(tenant, rest);
        },
      };
    },
    published(resellers) {
      for (const { reseller_id, news } of listeners)
        if (reseller_id === null || resellers === undefined || resellers.includes(reseller_id)) news.abort();
    },
    closing: over.signal,
    close: () => over.abort(),
  };
}
