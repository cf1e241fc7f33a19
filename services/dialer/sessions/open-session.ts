import type { ParamsOf } from "../../../shared/bus/bus.ts";
import type {
  MediaAccess,
  SessionAccess,
  SessionOrder,
  SpokenStatus,
} from "../../../shared/contracts/records/session.ts";
import { BROWSER, MEDIA_TOKEN_SECONDS, roomOf } from "../../../shared/contracts/records/session.ts";
import { fail } from "../../../shared/errors.ts";
import { callRef } from "../../../shared/ids.ts";
import { plusMs, plusSeconds } from "../../../shared/time/clock.ts";
import { awaitClient, isLive } from "../call/call-state-machine.ts";
import type { CallDoc, StoredOrder } from "../call/calls.model.ts";
import { openedSession } from "../call/new-calls.ts";
import type { DialerParts } from "../deps.ts";
import { giveBackSpend, reserveSpend } from "../spend/spend-admission.ts";
import { longestSeconds } from "../spend/spend-amounts.ts";

/** A client that came with the last second of its token is let in for so much longer. */
const JOINING_MS = 10_000;

/** What is kept of an order: a session has no numbers, and no voicemail answers it. */
const storedOrderOf = ({ payload: _payload, via: _via, engine, ...order }: SessionOrder): StoredOrder => ({
  ...order,
  to: "",
  from: "",
  number_id: "",
  dial_until: null,
  voicemail_action: "continue",
  enforce_blacklist: true,
  ...(engine === null ? {} : { engine }),
});

const accessTo = (room_name: string, at: MediaAccess, expires_at: Date): SessionAccess => ({
  ...(at.transport ? { transport: at.transport } : {}),
  url: at.media_url,
  token: at.token,
  room_name,
  expires_at: expires_at.toISOString(),
});

/** The conversation waits for the client of a session: what the client joins with, and until when. */
async function prepare(deps: DialerParts, order: SessionOrder, call_ref: string) {
  const { lead_id, claim_no, template_id, template_version, payload, max_call_seconds, engine, record, via } = order;
  const expires_at = plusSeconds(deps.clock.now(), MEDIA_TOKEN_SECONDS);
  const prepared = await deps.peers.prepareConversation({
    call_ref,
    lead_id,
    claim_no,
    provider: BROWSER,
    template_id,
    template_version,
    payload,
    max_call_seconds,
    voicemail_action: "continue",
    carrier: "browser",
    ...(order.execution_mode === "RTC_STREAM" ? { client_led: true } : {}),
    ...(via ? { via } : {}),
    engine,
    record,
    ttl_seconds: MEDIA_TOKEN_SECONDS,
  });
  return { prepared, expires_at };
}

/**
 * A session waits for its client: reserved under its spend ceilings, prepared with a conversation, then stored like a call. SESSION_HELD by a ceiling; the conversation's refusals. What a
 * crash in between leaves behind the sweeps find.
 */
export async function openSession(deps: DialerParts, order: SessionOrder): Promise<SessionAccess> {
  const { reseller_id, merchant_id, spend_ceilings } = order;
  const call_ref = callRef(order.lead_id, order.claim_no);
  const charged = { ref: call_ref, reseller_id, merchant_id, ...(spend_ceilings ? { spend_ceilings } : {}) };
  const leg = { to: null, seconds: longestSeconds(order.max_call_seconds), unpaid: true };
  const reached = await reserveSpend(deps, { ...charged, ...leg });
  if (reached !== null)
    fail("SESSION_HELD", `The ${reached.whose}'s spend ceiling has no room for another session (${reached.what}).`);
  try {
    const { prepared, expires_at } = await prepare(deps, order, call_ref);
    const room = roomOf(call_ref);
    const call = openedSession(
      storedOrderOf(order),
      room,
      deps.nodeId,
      deps.clock.now(),
      plusMs(expires_at, JOINING_MS),
    );
    if (!(await deps.calls.insert(call))) fail("SESSION_OVER", "The attempt of this session is over already.");
    return accessTo(room, prepared, expires_at);
  } catch (error) {
    await giveBackSpend(deps, charged);
    throw error;
  }
}

const isJoinable = (call: CallDoc | null): call is CallDoc =>
  call !== null && call.session === true && isLive(call) && call.hang_up === undefined;

/** A new token for the client of a session that waits or is under way. SESSION_OVER; BUSY where another client's request has not been stored yet. */
export async function rejoinSession(
  deps: DialerParts,
  { call_ref, via }: ParamsOf<"dialer.rejoinSession">,
): Promise<SessionAccess> {
  const call = await deps.calls.find(call_ref);
  if (call === null) fail("BUSY", "The session is being opened; try again.", { retry_after_seconds: 1 });
  if (!isJoinable(call)) return fail("SESSION_OVER", "The session has ended.");
  const expires_at = plusSeconds(deps.clock.now(), MEDIA_TOKEN_SECONDS);
  if (call.holder === undefined) await deps.calls.apply(awaitClient(call_ref, plusMs(expires_at, JOINING_MS)));
  const how = call.holder === undefined ? {} : { node: call.holder };
  const issued = await deps.bus.call("conversation.reissue", { call_ref, ...(via ? { via } : {}) }, how);
  return accessTo(roomOf(call_ref), issued, expires_at);
}

/** Has a text spoken by the node that has the session. SESSION_NOT_LIVE, SESSION_OVER, RATE_LIMITED. */
export async function speak(deps: DialerParts, request: ParamsOf<"dialer.speak">): Promise<SpokenStatus> {
  const call = await deps.calls.find(request.call_ref);
  if (call !== null && !isJoinable(call)) fail("SESSION_OVER", "The session has ended.");
  if (call?.holder === undefined) return fail("SESSION_NOT_LIVE", "Nobody has joined the session yet.");
  return deps.bus.call("conversation.speak", request, { node: call.holder });
}
