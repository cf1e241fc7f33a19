import type { Twilio } from "twilio";
import type { CallInstance } from "twilio/lib/rest/api/v2010/account/call.js";
import { fail } from "../../../../shared/errors.ts";
import { errorCodeOf, Refusal } from "../carrier-errors.ts";
import type { CallProgress, CarrierCall, CarrierPort, DialAnswer, DialRequest } from "../carrier-port.ts";
import { dialAnswerOf } from "./refusals.ts";
import { answeredBy, stepOf, translate } from "./callbacks.ts";
import { emptyDocument, hangUpDocument, talkDocument, transferDocument } from "./documents.ts";
import { inboundDocument, readInbound } from "./inbound.ts";
import { openRecording, recordingsOf } from "./recordings.ts";
import { openRest, type RestOptions } from "./rest.ts";
import { isSigned, isUpgradeSigned } from "./signature.ts";
import { twilioStream } from "./stream.ts";

/** What the adapter needs of the environment. */
export interface TwilioOptions extends RestOptions {
  public_http_url: string;
  public_ws_url: string;
}

/** Calls looked at in a search; the newest come first, and one pair of numbers makes few in two minutes. */
const MAX_FOUND = 50;
/** Twilio keeps whole seconds, by its own clock. */
const CLOCK_TOLERANCE_MS = 3000;
/** Twilio's answer to a change of a call that is over. */
const NOT_IN_PROGRESS = 21_220;
const NOT_FOUND_STATUS = 404;
const XML = "text/xml; charset=utf-8";

const wholeOf = (text: string | null | undefined): number | null =>
  text !== null && text !== undefined && /^\d+$/.test(text) ? Number(text) : null;
const isoOf = (date: Date | null | undefined): string | null =>
  date instanceof Date && !Number.isNaN(date.getTime()) ? date.toISOString() : null;

/** Twilio's call resource in our words. The moment of the answer is the end less the talk time: the resource has no other. */
function callOf(c: CallInstance): CarrierCall {
  const seconds = wholeOf(c.duration);
  const step = stepOf(c.status, isoOf(c.endTime), c.sid, { sip: null, seconds });
  const progress: CallProgress[] = [];
  if (step?.type === "ended" && step.end === "completed") {
    const at =
      c.endTime instanceof Date && seconds !== null
        ? new Date(c.endTime.getTime() - seconds * 1000).toISOString()
        : null;
    if (at !== null) progress.push({ call_id: c.sid, at, type: "answered" });
  }
  const verdict = answeredBy(c.answeredBy);
  if (verdict) progress.push({ call_id: c.sid, at: null, type: "machine", verdict });
  if (step) progress.push(step);
  const amount = Math.abs(Number(c.price));
  return {
    call_id: c.sid,
    created_at: c.dateCreated instanceof Date ? c.dateCreated : null,
    live: step?.type !== "ended",
    progress,
    cost: c.price !== null && Number.isFinite(amount) ? { amount, currency: c.priceUnit } : null,
  };
}

/** The dial request as Twilio's SDK takes it. The document goes inline: no round trip at the answer. */
function paramsOf({
  call_ref,
  to,
  from,
  ring_seconds,
  talk_seconds,
  media,
  callback_base,
  record,
  await_beep,
}: DialRequest) {
  const at = (kind: string) => `${callback_base}/${kind}/${call_ref}`;
  return {
    to,
    from,
    twiml: talkDocument(media, at),
    statusCallback: at("status"),
    statusCallbackMethod: "POST",
    statusCallbackEvent: ["initiated", "ringing", "answered", "completed"],
    timeout: ring_seconds,
    timeLimit: talk_seconds,
    machineDetection: await_beep ? "DetectMessageEnd" : "Enable",
    asyncAmd: "true",
    asyncAmdStatusCallback: at("amd"),
    asyncAmdStatusCallbackMethod: "POST",
    ...(record
      ? {
          record: true,
          recordingChannels: "dual",
          trim: "do-not-trim",
          recordingStatusCallback: at("recording"),
          recordingStatusCallbackMethod: "POST",
          recordingStatusCallbackEvent: ["completed", "absent"],
        }
      : {}),
  };
}

const isOver = (error: unknown): boolean =>
  error instanceof Refusal && (error.code === NOT_IN_PROGRESS || error.status === NOT_FOUND_STATUS);

const unreachable = (error: unknown): never =>
  fail(
    "DEPENDENCY_DOWN",
    `The carrier does not answer (${error instanceof Refusal ? `HTTP ${error.status}, code ${error.code}` : errorCodeOf(error)}); it will be asked again.`,
  );

/** Asks once. A request that can't even be made is refused: nothing was sent. */
async function dialOnce(rest: () => Promise<Twilio>, request: DialRequest): Promise<DialAnswer> {
  let client: Twilio;
  let params: ReturnType<typeof paramsOf>;
  try {
    [client, params] = [await rest(), paramsOf(request)];
  } catch (error) {
    return {
      kind: "refused",
      invalid_number: false,
      carrier_code: "not_sent",
      reason: error instanceof Error ? error.message : String(error),
    };
  }
  try {
    const { sid, queueTime } = await client.calls.create(params);
    return { kind: "placed", call_id: sid, queued_ms: wholeOf(queueTime) ?? 0 };
  } catch (error) {
    return dialAnswerOf(error);
  }
}

/** Twilio behind the port. Nothing of its vocabulary passes this file. */
export function twilioCarrier(options: TwilioOptions): CarrierPort {
  let opened: Promise<Twilio> | null = null;
  const rest = (): Promise<Twilio> => (opened ??= openRest(options));

  return {
    id: "twilio",
    capabilities: {
      speech: "relay",
      machine_detection: true,
      beep: true,
      recording: "dial",
      signs_upgrade: true,
      dtmf: "media",
    },
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
        if (error instanceof Refusal && error.status < 500)
          fail(
            "CALL_REFUSED",
            `The carrier refused the transfer (code ${error.code ?? error.status}): ${error.message}`,
          );
        unreachable(error);
      }
    },
    async fetch({ call_id }) {
      try {
        return callOf(await (await rest()).calls(call_id).fetch());
      } catch (error) {
        return error instanceof Refusal && error.status === NOT_FOUND_STATUS ? null : unreachable(error);
      }
    },
    async find({ to, from, since, until }) {
      // no StartTime filter: a call still in Twilio's queue has none and would be missed
      const found = await (await rest()).calls.list({ to, from, limit: MAX_FOUND }).catch(unreachable);
      const [first, last] = [since.getTime() - CLOCK_TOLERANCE_MS, until.getTime() + CLOCK_TOLERANCE_MS];
      return found
        .map(callOf)
        .filter((c) => c.created_at !== null && c.created_at.getTime() >= first && c.created_at.getTime() <= last);
    },
    sendDtmf: async () => fail("NOT_AVAILABLE", "Twilio presses keys over the talk's own WebSocket."),
    record: async () => fail("NOT_AVAILABLE", "Twilio records as the dial request asks."),
    openRecording: (recording) => openRecording(options, recording),
    recordingsOf: async ({ call_id }) => recordingsOf(await rest(), options, call_id).catch(unreachable),
    verify: (request) => isSigned(options.auth_token, options.public_http_url, request),
    verifyUpgrade: (request) => isUpgradeSigned(options.auth_token, options.public_ws_url, request),
    translate,
    answerDocument: (kind) => ({
      content_type: XML,
      body: kind === "relay-end" || kind === "stream" ? hangUpDocument() : emptyDocument(),
    }),
    inbound: readInbound,
    answerInbound: async (_call, decision) => ({ content_type: XML, body: inboundDocument(decision) }),
  };
}
