import { codeOf } from "../../../../shared/errors.ts";
import type { InboundCall, InboundDecision, SignedRequest } from "../carrier-port.ts";
import { eventOf, referenceOf } from "./callbacks.ts";
import { command, commandIfLive } from "./commands.ts";
import { hooksOf, recordingIf, talkOf, stateOf } from "./dial-request.ts";
import { parsed, recordOf, textOf } from "../json.ts";
import type { Rest } from "./rest.ts";

/** Languages Telnyx's own voices speak; others hear the message in the first. */
const SPOKEN: readonly string[] = [
  "en-US",
  "arb",
  "cmn-CN",
  "cy-GB",
  "da-DK",
  "de-DE",
  "en-AU",
  "en-GB",
  "en-IN",
  "es-ES",
  "es-MX",
  "es-US",
  "fr-CA",
  "fr-FR",
  "hi-IN",
  "is-IS",
  "it-IT",
  "ja-JP",
  "ko-KR",
  "nb-NO",
  "nl-NL",
  "pl-PL",
  "pt-BR",
  "pt-PT",
  "ro-RO",
  "ru-RU",
  "sv-SE",
  "tr-TR",
];
const DEFAULT_LANGUAGE = "en-US";
const VOICE = "female";

/** Pending action of an answered call. It travels in the call's client_state, so that the node that receives the next event knows it. */
const saying = (message: string, language: string): string => JSON.stringify({ say: message, language });
/** The same for a transfer, after a message where there is one. */
const handing = (to: string, message: string | null, language: string): string =>
  JSON.stringify({ hand_to: to, ...(message === null ? {} : { say: message, language }) });

/**
 * Acts on an inbound call by commands. A command's id makes a repeat harmless: Telnyx ignores it for the same call. What needs an answered call
 * (speech, a transfer) is sent when the event of the answer comes (goOn).
 */
export async function answerInbound(rest: Rest, { call_id }: InboundCall, decision: InboundDecision): Promise<void> {
  const answer = (body: Record<string, unknown>): Promise<void> =>
    commandIfLive(rest, call_id, "answer", { command_id: "answer", ...body });
  switch (decision.kind) {
    case "reject": {
      if (decision.message === null)
        await commandIfLive(rest, call_id, "reject", { cause: "CALL_REJECTED", command_id: "reject" });
      else await answer({ client_state: stateOf(saying(decision.message, decision.language)) });
      return;
    }
    case "redirect":
      await answer({ client_state: stateOf(handing(decision.to, decision.message, decision.language)) });
      return;
    case "connect": {
      const { callback_base, call_ref, media, record } = decision;
      await answer({
        client_state: stateOf(call_ref),
        ...hooksOf(callback_base, call_ref),
        ...recordingIf(record),
        ...talkOf(media),
      });
    }
  }
}

/** Starts the pending action of an answered call; a call that can't do it is ended, so that the caller is not left in silence. */
async function carryOut(
  rest: Rest,
  call_id: string,
  what: "speak" | "transfer",
  body: Record<string, unknown>,
): Promise<void> {
  try {
    await command(rest, call_id, what, { command_id: what, ...body });
  } catch (error) {
    if (codeOf(error) !== "CALL_REFUSED") throw error;
    await commandIfLive(rest, call_id, "hangup", {});
  }
}

/** Continues a call that was answered to be rejected or transferred, when its events allow it. */
export async function continueInbound(rest: Rest, request: SignedRequest): Promise<void> {
  const { event, call_id } = eventOf(request);
  if (event.type !== "call.answered" && event.type !== "call.speak.ended") return;
  const state = recordOf(parsed(referenceOf(event.payload["client_state"]) ?? ""));
  const [say, hand_to, language] = [textOf(state["say"]), textOf(state["hand_to"]), textOf(state["language"])];
  if (event.type === "call.speak.ended") {
    if (hand_to !== null) await carryOut(rest, call_id, "transfer", { to: hand_to });
    else if (say !== null) await commandIfLive(rest, call_id, "hangup", {});
    return;
  }
  if (say !== null)
    await carryOut(rest, call_id, "speak", {
      payload: say,
      voice: VOICE,
      language: SPOKEN.find((l) => l === language) ?? DEFAULT_LANGUAGE,
    });
  else if (hand_to !== null) await carryOut(rest, call_id, "transfer", { to: hand_to });
}
