import type { XmlTurn, XmlTurnReply } from "../../../shared/contracts/conversation.ts";
import { fail } from "../../../shared/errors.ts";
import { errorForLog } from "../../../shared/process/log.ts";
import { within } from "../../../shared/time/deadline.ts";
import { endCall } from "./call-control.ts";
import { isLive } from "./call-state-machine.ts";
import type { CallDoc } from "./calls.model.ts";
import type { DialerParts } from "../deps.ts";

/*
 * One rule for all carriers: who is on the phone hears something within two seconds of the carrier's word that the media of the conversation are over, or of
 * its request for the next document, or is released. The carrier can't know whether the conversation lives, so its process is asked.
 */

/** The process that leads a conversation says within this long that it lives, ms. */
const ALIVE_MS = 1200;
/** The next document is waited for this long before its process is asked whether it lives, ms: with the answer it is less than two seconds. */
const DOCUMENT_MS = 600;

/** Whether the process that leads this conversation has it in hand: silence is a no. */
async function lives(deps: DialerParts, call_ref: string, holder: string): Promise<boolean> {
  try {
    return (await deps.bus.call("conversation.alive", { call_ref }, { node: holder, timeout_ms: ALIVE_MS })).alive;
  } catch (error) {
    deps.log.warn({ call_ref, holder, error: errorForLog(error) }, "the node of a conversation is silent");
    return false;
  }
}

/**
 * The carrier says that the media of a conversation are over, and its call goes on: ended where the conversation is gone. One that lives sees the end of its
 * media itself; one that has handed the call on is over, and its call is not. Its lead is left to its lease.
 */
export async function releaseIfLost(deps: DialerParts, call: CallDoc): Promise<void> {
  const { _id, holder, hang_up, handed_on } = call;
  if (!isLive(call) || holder === undefined || hang_up !== undefined || handed_on === true) return;
  if (await lives(deps, _id, holder)) return;
  deps.log.warn(
    { event: "call.conversation_lost", call_ref: _id, holder },
    "the media of a conversation are over and nobody leads it any more; the call is ended",
  );
  await endCall(deps, _id, "conversation_lost");
}

/** Asks the process that leads a conversation for the next document. DEPENDENCY_DOWN: it is silent. */
export async function turnOfLeader(deps: DialerParts, turn: XmlTurn, holder: string): Promise<XmlTurnReply> {
  const reply = deps.bus.call("conversation.turn", { ...turn, token: null }, { node: holder });
  if ((await within(deps.clock, DOCUMENT_MS, reply)) || (await answered(deps, reply, turn.call_ref, holder)))
    return reply;
  return fail("DEPENDENCY_DOWN", "the process that led the conversation is silent");
}

/** Whether the answer comes, or its process says that it works on it. */
async function answered(deps: DialerParts, reply: Promise<unknown>, ref: string, holder: string): Promise<boolean> {
  const came = reply.then(
    () => true,
    () => true,
  );
  return Promise.race([came, lives(deps, ref, holder)]);
}
