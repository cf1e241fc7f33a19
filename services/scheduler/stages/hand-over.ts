import type { ParamsOf } from "../../../shared/bus.ts";
import { plusMs } from "../../../shared/clock.ts";
import { noFacts } from "../../../shared/contracts/attempt.ts";
import type { ClaimedLead } from "../../../shared/contracts/lead.ts";
import { crashPoint } from "../../../shared/crash.ts";
import { isFailure } from "../../../shared/errors.ts";
import { inSlices } from "../../../shared/in-slices.ts";
import { errorForLog } from "../../../shared/log.ts";
import { MAX_PACKET_BYTES, packets } from "../../../shared/packets.ts";
import { ringableState } from "../admission/ringable-window.ts";
import { ringsOf } from "./pick-fairly.ts";
import type { Admitted } from "./admit-leads.ts";
import { rateLimitOf } from "../limits/rate-permits.ts";
import { putAside } from "./admit-queues.ts";
import { reserveLines, type Lined } from "./reserve-slots.ts";
import type { Works } from "../deps.ts";

type Order = ParamsOf<"dialer.dialMany">["orders"][number];
interface Claimed extends Lined {
  claimed: ClaimedLead;
}

/** Orders offered to one dialler in one go; several go side by side, so that several diallers share a pass. */
const ORDERS_AT_ONCE = 50;
const OFFERS_AT_ONCE = 4;
const CLAIMS_AT_ONCE = 2;
const RELEASES_AT_ONCE = 20;
/** A lead comes back after this long when the dialler has no room, or can't take it at all. */
const NO_ROOM_MS = 500;
const REFUSED_MS = 5000;

/** Claims answer with payloads, and orders carry them: both must fit into messages on the bus. */
const bytesOf = ({ admitted: { lead } }: Lined): number => lead.payload_bytes ?? 0;

const claim = async (w: Works, lined: readonly Lined[]): Promise<Claimed[]> =>
  (await inSlices(packets(lined, bytesOf, MAX_PACKET_BYTES), CLAIMS_AT_ONCE, (some) => claimSome(w, some))).flat();

async function claimSome({ ground }: Works, lined: readonly Lined[]): Promise<Claimed[]> {
  const { claimed } = await ground.bus.call("leads.claimMany", {
    lease_seconds: ground.env.LEASE_SECONDS,
    items: lined.map(({ admitted: { lead, plan, configuration }, line }) => ({
      lead_id: lead.lead_id,
      due_at: lead.due_at,
      claim_no: lead.claim_no,
      attempt: {
        number_id: line.id,
        provider: line.provider,
        template_version: plan.version,
        policy: {
          max_retry: configuration.max_retry,
          retry_offset: configuration.retry_offset,
          retry_on: plan.retry_on,
        },
      },
    })),
  });
  return lined.flatMap((l, i) => {
    const won = claimed[i];
    return won ? [{ ...l, claimed: won }] : [];
  });
}

function orderOf({ ground }: Works, { claimed, admitted: { plan, configuration }, line }: Claimed): Order {
  const window = ringableState(
    { start: configuration.call_start_time, end: configuration.call_end_time, zone: configuration.timezone },
    ground.clock.now(),
  );
  return {
    lead_id: claimed.lead_id,
    claim_no: claimed.claim_no,
    reseller_id: claimed.reseller_id,
    merchant_id: claimed.merchant_id,
    template_id: claimed.template_id,
    template_version: plan.version,
    execution_mode: claimed.execution_mode,
    to: claimed.phone_number,
    from: line.phone_number,
    number_id: line.id,
    provider: line.provider,
    // shut since it was judged: the dialler gives it back
    payload: claimed.payload,
    dial_until: window.open ? (window.closes_at?.toISOString() ?? null) : ground.clock.now().toISOString(),
    record: configuration.record_calls,
    ...(configuration.engine === null ? {} : { engine: configuration.engine }),
    voicemail_action: configuration.voicemail_action,
    enforce_blacklist: configuration.enforce_blacklist,
    max_call_seconds: plan.max_call_seconds,
    rate_limit: rateLimitOf(configuration, claimed.phone_number),
    pre_checks: configuration.pre_checks,
    pre_check_defers: claimed.pre_check_defers,
  };
}

/** Gives claimed leads back that certainly were not taken, unspent, and their lines with them. */
async function giveBack({ ground }: Works, of: readonly Claimed[], afterMs: number, reason: string): Promise<void> {
  if (of.length === 0) return;
  const due_at = plusMs(ground.clock.now(), afterMs).toISOString();
  await inSlices(of, RELEASES_AT_ONCE, async ({ claimed: { lead_id, claim_no } }) => {
    await ground.bus.call("leads.release", { lead_id, claim_no, due_at, reason }).catch((error: unknown) => {
      ground.log.warn(
        { event: "release.failed", lead_id, ...errorForLog(error) },
        "a lead could not be given back; its lease runs out",
      );
    });
  });
  await ground.bus.call("numbers.releaseMany", { holders: of.map((c) => c.holder) });
}

/** The dialler went away with the orders in hand: it may have taken them, and may still be alive beyond a broken bus. */
const mayBeTaken = (error: unknown): boolean =>
  error instanceof Error && "type" in error && error.type === "REQUEST_REJECTED";

/** Ends the attempt of a lead whose order no dialler takes, so that it does not come back for ever. */
async function refuse(
  { ground }: Works,
  { claimed: { lead_id, claim_no }, holder }: Claimed,
  error: unknown,
): Promise<void> {
  const message = error instanceof Error ? error.message : String(error);
  ground.log.error(
    { event: "order.invalid", lead_id, ...errorForLog(error) },
    "a lead can't be offered to the dialler; its attempt ends",
  );
  await ground.bus.call("leads.settle", {
    lead_id,
    claim_no,
    facts: { ...noFacts("not_dialled"), error: { code: "VALIDATION_FAILED", message } },
  });
  await ground.bus.call("numbers.releaseMany", { holders: [holder] });
}

/** Offers orders. What the dialler certainly did not take is given back; where nobody knows, the leases decide. */
async function offer(w: Works, orders: readonly Claimed[]): Promise<void> {
  const nowMs = (): number => w.ground.clock.monotonicMs();
  try {
    const { taken } = await w.ground.bus.call("dialer.dialMany", { orders: orders.map((c) => orderOf(w, c)) });
    orders.forEach((c, i) => {
      if (taken[i] === true) for (const { ring } of ringsOf(c.admitted.open)) w.spoken.add(ring, nowMs());
    });
    w.pace.told(orders.length, taken.filter(Boolean).length, nowMs());
    await giveBack(
      w,
      orders.filter((_, i) => taken[i] !== true),
      NO_ROOM_MS,
      "dialler_busy",
    );
  } catch (error) {
    w.ground.log.warn(
      { event: "dial.refused", leads: orders.length, ...errorForLog(error) },
      "the dialler did not take leads",
    );
    if (isFailure(error, "VALIDATION_FAILED")) {
      // one of them is at fault; the others must not wait for it
      if (orders.length > 1) await inSlices(orders, OFFERS_AT_ONCE, (c) => offer(w, [c]));
      else for (const c of orders) await refuse(w, c, error);
      return;
    }
    for (const name of new Set(orders.map((c) => c.admitted.open.queue.queue))) putAside(w, name, error);
    w.pace.told(orders.length, 0, nowMs());
    if (mayBeTaken(error)) return;
    if (isFailure(error, "BUSY") || isFailure(error, "DEPENDENCY_DOWN"))
      await giveBack(w, orders, REFUSED_MS, "dialler_refused");
  }
}

/** Admitted leads get their lines, are claimed and handed over, each step in one go; whatever was taken in vain is given back. */
export async function launch(w: Works, admitted: readonly Admitted[]): Promise<void> {
  if (admitted.length === 0) return;
  const lined = await reserveLines(w, admitted);
  if (lined.length === 0) return;
  crashPoint(w.ground.env, "K2");
  const claimed = await claim(w, lined);
  crashPoint(w.ground.env, "K1");
  const won = new Set(claimed.map((c) => c.holder));
  const lost = lined.filter((l) => !won.has(l.holder)).map((l) => l.holder);
  const offers = packets(claimed, bytesOf, MAX_PACKET_BYTES, ORDERS_AT_ONCE);
  await Promise.all([
    inSlices(offers, OFFERS_AT_ONCE, (orders) => offer(w, orders)),
    lost.length === 0 ? null : w.ground.bus.call("numbers.releaseMany", { holders: lost }),
  ]);
}
