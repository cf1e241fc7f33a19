import { accountUnanswered, refusedCommand, unreachable } from "../carrier-errors.ts";
import type { CallbackKind, CallHandle, Capabilities, CarrierPort, DialAnswer, DialRequest } from "../carrier-port.ts";
import { malformed, queryOf } from "../signed-request.ts";
import { emptyDocument, xmlAnswer } from "../xml.ts";
import { CALL_FIELD, inboundOf, streamIn, translate } from "./callbacks.ts";
import { onLeg } from "./commands.ts";
import { bare, dialBody } from "./dial-request.ts";
import { dialDocument, farewellDocument, inboundDocument, streamDocument, turnDocument, turnUrl } from "./documents.ts";
import { createLookup, holdsNumber, type Lookup } from "./lookup.ts";
import { openRecording, recordingsOf } from "./recordings.ts";
import { dialAnswerOf } from "./refusals.ts";
import { callPath, isMissing, openRest, type PlivoRest, type RestOptions } from "./rest.ts";
import { isSigned } from "./signature.ts";
import { plivoStream } from "./stream.ts";

/** What the adapter needs of the environment. */
export interface PlivoOptions extends RestOptions {
  now(): Date;
  public_http_url: string;
  public_ws_url: string;
}

async function dial(rest: PlivoRest, lookup: Lookup, request: DialRequest, at: Date): Promise<DialAnswer> {
  try {
    const { request_uuid } = await rest.dial(dialBody(request), request.may_leave);
    const call_id: unknown = Array.isArray(request_uuid) ? request_uuid[0] : request_uuid;
    if (typeof call_id !== "string" || call_id === "")
      return { kind: "uncertain", reason: "the carrier's answer names no call" };
    lookup.remember(call_id, { to: request.to, from: request.from, at });
    return { kind: "placed", call_id, queued_ms: 0 };
  } catch (error) {
    return dialAnswerOf(error);
  }
}

/** Cancels a request that has not rung yet, else ends the call. A call that is over or unknown is no error. */
async function hangUp(rest: PlivoRest, lookup: Lookup, call: CallHandle, answered: boolean): Promise<void> {
  const cancel = async (): Promise<void> => rest.remove(`Request/${encodeURIComponent(call.call_id)}/`);
  const end = async (): Promise<void> => onLeg(lookup, call, (leg) => rest.remove(callPath(leg)));
  for (const attempt of answered || call.leg_id !== null ? [end, cancel] : [cancel, end]) {
    try {
      await attempt();
      return;
    } catch (error) {
      if (!isMissing(error)) unreachable(error);
    }
  }
}

/** The target number of a transfer, in digits, and our own, from the signed address that asks for the document. */
function transferOf(path: string): { to: string; from: string | null } {
  const query = queryOf(path);
  const [to, from] = [query.get("to") ?? "", query.get("from") ?? ""];
  if (!/^[1-9]\d{6,14}$/.test(to))
    malformed("The transfer's address names no number.", "to", "must be a phone number in digits");
  return { to, from: /^[1-9]\d{6,14}$/.test(from) ? from : null };
}

/** Callbacks whose document says what happens next in the call. */
const SPEAKING_KINDS: ReadonlySet<CallbackKind> = new Set(["answer", "turn", "transfer", "inbound"]);

const CAPABILITIES: Capabilities = {
  speech: "turns",
  machine_detection: true,
  names_ender: true,
  beep: false,
  recording: "command",
  signs_upgrade: false,
  dtmf: "command",
};

type Next = Parameters<NonNullable<CarrierPort["askAgain"]>>[1];

/** Sends the call to the document that follows a turn, whatever it does now. */
const askAgain = (
  rest: PlivoRest,
  lookup: Lookup,
  call: CallHandle,
  { base, call_ref, ...turn }: Next,
): Promise<void> => {
  const aleg_url = turnUrl({ callback_base: base, call_ref }, turn);
  return onLeg(lookup, call, (leg) => rest.post(callPath(leg), { legs: "aleg", aleg_url, aleg_method: "POST" })).catch(
    (error: unknown) => refusedCommand("the next document", error),
  );
};

/** Plivo behind the port. Nothing of its vocabulary passes this folder. */
export function plivoCarrier(options: PlivoOptions): CarrierPort {
  const rest = openRest(options);
  const lookup = createLookup(rest);
  return {
    id: "plivo",
    capabilities: CAPABILITIES,
    stream: plivoStream,
    warm: async () => undefined,
    dial: (request) => dial(rest, lookup, request, options.now()),
    hangUp: (call, answered) => hangUp(rest, lookup, call, answered),
    transfer: (call, to, from, { base, call_ref }) =>
      onLeg(lookup, call, (leg) =>
        rest.post(callPath(leg), {
          legs: "aleg",
          aleg_url: `${base}/transfer/${call_ref}?to=${bare(to)}&from=${bare(from)}`,
          aleg_method: "POST",
        }),
      ).catch((error: unknown) => refusedCommand("the transfer", error)),
    askAgain: (call, at) => askAgain(rest, lookup, call, at),
    sendDtmf: (call, digits) =>
      onLeg(lookup, call, (leg) => rest.post(`${callPath(leg)}DTMF/`, { digits })).catch((error: unknown) =>
        refusedCommand("the keys", error),
      ),
    // the name of the call goes with the address, for Plivo's callback names the leg only
    record: (call, { callback_base, call_ref, limit_seconds }) =>
      onLeg(lookup, call, (leg) =>
        rest.post(`${callPath(leg)}Record/`, {
          time_limit: limit_seconds,
          file_format: "wav",
          record_channel_type: "stereo",
          callback_url: `${callback_base}/recording/${call_ref}?${CALL_FIELD}=${encodeURIComponent(call.call_id)}`,
          callback_method: "POST",
        }),
      ).catch((error: unknown) => refusedCommand("the recording", error)),
    openRecording: ({ recording_id, url }) => openRecording(rest, recording_id, url),
    recordingsOf: (call) => recordingsOf(rest, call),
    fetch: (call) => lookup.fetch(call).catch(unreachable),
    find: (sought) => lookup.find(sought).catch(unreachable),
    holds: (phone_number) => holdsNumber(rest, phone_number).catch(accountUnanswered),
    verify: (request) => isSigned(options.auth_token, options.public_http_url, request),
    verifyUpgrade: () => true,
    translate,
    answerDocument: (kind, reply, at) => {
      if (kind === "transfer") {
        const { to, from } = transferOf(at.path);
        return xmlAnswer(dialDocument(to, from));
      }
      const stream = kind === "answer" ? streamIn(at.path) : null;
      if (stream !== null) return xmlAnswer(streamDocument(stream, at));
      return xmlAnswer(reply === null ? emptyDocument() : turnDocument(reply, at));
    },
    farewellDocument: (kind, { sentence, language }) =>
      SPEAKING_KINDS.has(kind) ? xmlAnswer(farewellDocument(sentence, language)) : null,
    inbound: inboundOf,
    answerInbound: async (call, decision) => xmlAnswer(inboundDocument(call, decision)),
  };
}
