import type { By } from "../../../shared/contracts/records/identity.ts";
import { fail } from "../../../shared/errors.ts";
import type { Clock } from "../../../shared/time/clock.ts";

/** Streams of events that one tenant may have open at one gateway process; admins count as one tenant. */
export const STREAMS_PER_TENANT = 10;
/** Streams of all tenants at one gateway process. */
const MAX_STREAMS = 500;
/** A client that finds no place comes again after this long. */
const AGAIN_SECONDS = 5;

/** The streams of events that clients have open at this gateway. */
export interface OpenStreams {
  /** Takes a place for a stream of the asker's tenant; what it returns gives the place back. RATE_LIMITED. */
  enter(by: By): () => void;
  /** Resolves when there are further events, after so many ms, or when the signal aborts. */
  further(ms: number, signal: AbortSignal): Promise<void>;
  /** There are further events. */
  published(): void;
  /** Aborted when the gateway shuts down. */
  readonly closing: AbortSignal;
  close(): void;
}

const tenantOf = ({ role, reseller_id, merchant_id }: By): string =>
  role === "admin" ? "" : `${reseller_id ?? ""}/${role === "reseller" ? "" : (merchant_id ?? "")}`;

/** No stream is open yet. */
export function openStreams(clock: Clock): OpenStreams {
  const byTenant = new Map<string, number>();
  const over = new AbortController();
  let all = 0;
  let news = new AbortController();
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
      let left = false;
      return () => {
        if (left) return;
        left = true;
        all--;
        const rest = (byTenant.get(tenant) ?? 1) - 1;
        if (rest === 0) byTenant.delete(tenant);
        else byTenant.set(tenant, rest);
      };
    },
    further: (ms, signal) => clock.wait(ms, AbortSignal.any([signal, news.signal])),
    published() {
      const heard = news;
      news = new AbortController();
      heard.abort();
    },
    closing: over.signal,
    close: () => over.abort(),
  };
}
