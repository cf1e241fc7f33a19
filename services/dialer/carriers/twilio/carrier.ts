import type { Twilio } from "twilio";
import { fail } from "../../../../shared/errors.ts";
import { Refusal, refusedCommand, unreachable } from "../carrier-errors.ts";
import { wholeOf } from "../json.ts";
import type { Capabilities, CarrierPort, DialAnswer, DialRequest } from "../carrier-port.ts";
import { leaving } from "../departure.ts";
import { translate } from "./callbacks.ts";
import { dialParams } from "./dial-request.ts";
import { emptyDocument, xmlAnswer } from "../xml.ts";
import { hangUpDocument, spokenEnd, transferDocument } from "./documents.ts";
import { inboundDocument, readInbound } from "./inbound.ts";
import { fetchCall, findCalls, holdsNumber } from "./lookup.ts";
import { openRecording, recordingsOf } from "./recordings.ts";
import { dialAnswerOf } from "./refusals.ts";
import { openRest, type RestOptions } from "./rest.ts";
import { isSigned, isUpgradeSigned } from "./signature.ts";
import { twilioStream } from "./stream.ts";

/** What the adapter needs of the environment. */
export interface TwilioOptions extends RestOptions {
  public_http_url: string;
  public_ws_url: string;
}

/** Twilio's answer to a change of a call that is over. */
const NOT_IN_PROGRESS = 21_220;
const NOT_FOUND_STATUS = 404;

const isOver = (error: unknown): boolean =>
  error instanceof Refusal && (error.code === NOT_IN_PROGRESS || error.status === NOT_FOUND_STATUS);

/** Asks once. A request that can't even be made is refused: nothing was sent. */
async function dialOnce(rest: () => Promise<Twilio>, request: DialRequest): Promise<DialAnswer> {
  let client: Twilio;
  let params: ReturnType<typeof dialParams>;
  try {
    [client, params] = [await rest(), dialParams(request)];
  } catch (error) {
    return {
      kind: "refused",
      invalid_number: false,
      carrier_code: "not_sent",
      reason: error instanceof Error ? error.message : String(error),
    };
  }
  try {
    const { sid, queueTime } = await leaving(request.may_leave, () => client.calls.create(params));
    return { kind: "placed", call_id: sid, queued_ms: wholeOf(queueTime) ?? 0 };
  } catch (error) {
    return dialAnswerOf(error);
  }
}

const CAPABILITIES: Capabilities = {
  speech: "relay",
  machine_detection: true,
  names_ender: false,
  beep: true,
  recording: "dial",
  signs_upgrade: true,
  dtmf: "media",
};

/** Twilio behind the port. Nothing of its vocabulary passes this file. */
export function twilioCarrier(options: TwilioOptions): CarrierPort {
  let opened: Promise<Twilio> | null = null;
  const rest = (): Promise<Twilio> => (opened ??= openRest(options));

  return {
    id: "twilio",
    capabilities: CAPABILITIES,
    stream: twilioStream,
    warm: async () => {
      await rest();
    },
    dial: (request) => dialOnce(rest, request),
    async hangUp({ call_id }, answered) {
      const call = (await rest()).calls(call_id);
      try {
        // "canceled" takes calls out of the queue too, but leaves one alone that was answered meanwhile
        const now = answered ? null : await call.update({ status: "canceled" });
        if (answered || now?.status === "in-progress") await call.update({ status: "completed" });
      } catch (error) {
        if (!isOver(error)) unreachable(error);
      }
    },
    async transfer({ call_id }, to, from) {
      try {
        await (await rest()).calls(call_id).update({ twiml: transferDocument(to, from) });
      } catch (error) {
        refusedCommand("the transfer", error);
      }
    },
    fetch: async ({ call_id }) => fetchCall(await rest(), call_id),
    find: async (sought) => findCalls(await rest(), sought),
    holds: async (phone_number) => holdsNumber(await rest(), phone_number),
    sendDtmf: async () => fail("NOT_AVAILABLE", "Twilio sends DTMF over the conversation's own WebSocket."),
    record: async () => fail("NOT_AVAILABLE", "Twilio records as the dial request asks."),
    openRecording: (recording) => openRecording(options, recording),
    recordingsOf: async ({ call_id }) => recordingsOf(await rest(), options, call_id).catch(unreachable),
    verify: (request) => isSigned(options.auth_token, options.public_http_url, request),
    verifyUpgrade: (request) => isUpgradeSigned(options.auth_token, options.public_ws_url, request),
    translate,
    answerDocument: (kind) => xmlAnswer(kind === "relay-end" || kind === "stream" ? hangUpDocument() : emptyDocument()),
    farewellDocument: (kind, { sentence, language }) => {
      // where the relay or the stream is over, so is the conversation
      if (kind === "relay-end" || kind === "stream") return xmlAnswer(hangUpDocument());
      return kind === "inbound" ? xmlAnswer(spokenEnd(sentence, language)) : null;
    },
    inbound: readInbound,
    answerInbound: async (_call, decision) => xmlAnswer(inboundDocument(decision)),
  };
}
