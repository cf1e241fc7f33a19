import { fail } from "../../../../shared/errors.ts";
import { errorCodeOf, Refusal } from "../carrier-errors.ts";
import type {
  AnswerDocument,
  CallHandle,
  CarrierPort,
  CarrierRecording,
  DialAnswer,
  DialRequest,
  MediaTarget,
  RecordingStream,
} from "../carrier-port.ts";
import { dialAnswerOf } from "./refusals.ts";
import { CALL_FIELD, inboundOf, STREAM_FIELD, streamIn, streamValue, translate } from "./callbacks.ts";
import {
  connectDocument,
  dialDocument,
  emptyDocument,
  inboundStreamDocument,
  rejectDocument,
  streamDocument,
  turnDocument,
} from "./documents.ts";
import { createLookup, type Lookup } from "./lookup.ts";
import { recordingIn, recordsIn } from "./call-records.ts";
import { isMissing, openRest, type PlivoRest, type RestOptions } from "./rest.ts";
import { isSigned } from "./signature.ts";
import { plivoStream } from "./stream.ts";

/** What the adapter needs of the environment. */
export interface PlivoOptions extends RestOptions {
  public_http_url: string;
  public_ws_url: string;
}

const TOO_MANY_STATUS = 429;
/** Recordings of one call that are looked at: there should be one. */
const MAX_LISTED = 20;
const XML = "text/xml; charset=utf-8";

const bare = (number: string): string => number.replace(/^\+/, "");
const xml = (body: string): AnswerDocument => ({ content_type: XML, body });
const callPath = (leg: string): string => `Call/${encodeURIComponent(leg)}/`;

/** The address asked at the answer. It carries the talk's one-use token, or the WebSocket its sound goes to: Plivo signs addresses whole, so nobody else can name another. */
const answerQuery = ({ kind, token, url }: MediaTarget): string =>
  kind === "audio" ? `${STREAM_FIELD}=${streamValue(url)}` : `media=${encodeURIComponent(token)}`;

/** The dial request. The document is asked for at the answer. */
function paramsOf({
  call_ref,
  to,
  from,
  ring_seconds,
  talk_seconds,
  media,
  callback_base,
}: DialRequest): Record<string, unknown> {
  const at = (kind: string) => `${callback_base}/${kind}/${call_ref}`;
  return {
    from: bare(from),
    to: bare(to),
    answer_url: `${at("answer")}?${answerQuery(media)}`,
    answer_method: "POST",
    ring_url: at("status"),
    ring_method: "POST",
    hangup_url: at("status"),
    hangup_method: "POST",
    ring_timeout: ring_seconds,
    time_limit: talk_seconds,
    machine_detection: "true",
    machine_detection_url: at("amd"),
    machine_detection_method: "POST",
  };
}

const unreachable = (error: unknown): never =>
  fail(
    "DEPENDENCY_DOWN",
    `The carrier does not answer (${error instanceof Refusal ? `HTTP ${error.status}` : errorCodeOf(error)}); it will be asked again.`,
  );

/** A command that Plivo refused, or that never reached it. */
function refused(what: string, error: unknown): never {
  if (error instanceof Refusal && error.status < 500 && error.status !== TOO_MANY_STATUS)
    fail("CALL_REFUSED", `The carrier refused ${what} (HTTP ${error.status}): ${error.message}`);
  return unreachable(error);
}

/** Acts on a call's leg. Plivo gives requests and legs the same name as a rule; where it does not, the leg is looked for among the calls under way. */
async function onLeg(
  lookup: Lookup,
  { call_id, leg_id }: CallHandle,
  act: (leg: string) => Promise<unknown>,
): Promise<void> {
  try {
    await act(leg_id ?? call_id);
  } catch (error) {
    if (leg_id !== null || !isMissing(error)) throw error;
    const leg = await lookup.legOf(call_id);
    if (leg === null) throw error;
    await act(leg);
  }
}

async function dial(rest: PlivoRest, lookup: Lookup, request: DialRequest): Promise<DialAnswer> {
  const at = new Date();
  try {
    const { request_uuid } = await rest.dial(paramsOf(request));
    const call_id: unknown = Array.isArray(request_uuid) ? request_uuid[0] : request_uuid;
    if (typeof call_id !== "string" || call_id === "")
      return { kind: "uncertain", reason: "the carrier's answer names no call" };
    lookup.remember(call_id, { to: request.to, from: request.from, at });
    return { kind: "placed", call_id, queued_ms: 0 };
  } catch (error) {
    return dialAnswerOf(error);
  }
}

/** Takes a request back that has not rung yet, else ends the call. What is over or unknown is no fault. */
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

/** The number a call is handed to, in digits, and our own, from the signed address that asks for the document. */
function transferOf(path: string): { to: string; from: string | null } {
  const query = new URLSearchParams(path.split("?").slice(1).join("?"));
  const [to, from] = [query.get("to") ?? "", query.get("from") ?? ""];
  if (!/^[1-9]\d{6,14}$/.test(to))
    fail("VALIDATION_FAILED", "The transfer's address names no number.", {
      errors: [{ path: "to", message: "must be a phone number in digits" }],
    });
  return { to, from: /^[1-9]\d{6,14}$/.test(from) ? from : null };
}

/** Opens a recording; a file that is not there is still being made as long as Plivo knows of it. */
async function openRecording(rest: PlivoRest, recording_id: string, url: string | null): Promise<RecordingStream> {
  const opened = url === null ? null : await rest.open(url);
  if (opened) return opened;
  const missing = (): never => fail("RECORDING_NOT_FOUND", "The carrier has no such recording.");
  if (url === null) return missing();
  await rest
    .get(`Recording/${encodeURIComponent(recording_id)}/`)
    .catch((error: unknown) => (isMissing(error) ? missing() : unreachable(error)));
  return fail("RECORDING_NOT_READY", "The carrier knows the recording, but its file is not there yet.");
}

/** The call's recordings that Plivo has finished; it files them under the leg. */
async function recordingsOf(rest: PlivoRest, { call_id, leg_id }: CallHandle): Promise<CarrierRecording[]> {
  const call_uuid = leg_id ?? call_id;
  const listing = await rest
    .get("Recording/", { call_uuid, limit: String(MAX_LISTED), offset: "0" })
    .catch((error: unknown) => (isMissing(error) ? {} : unreachable(error)));
  // a filter that is not known is passed over: another call's recording must never be taken for ours
  return recordsIn(listing)
    .filter((record) => record["call_uuid"] === call_uuid)
    .flatMap((record) => recordingIn(record) ?? []);
}

/** Plivo behind the port. Nothing of its vocabulary passes this folder. */
export function plivoCarrier(options: PlivoOptions): CarrierPort {
  const rest = openRest(options);
  const lookup = createLookup(rest);
  return {
    id: "plivo",
    capabilities: {
      speech: "turns",
      machine_detection: true,
      beep: false,
      recording: "command",
      signs_upgrade: false,
      dtmf: "command",
    },
    stream: plivoStream,
    warm: async () => undefined,
    dial: (request) => dial(rest, lookup, request),
    hangUp: (call, answered) => hangUp(rest, lookup, call, answered),
    transfer: (call, to, from, { base, call_ref }) =>
      onLeg(lookup, call, (leg) =>
        rest.post(callPath(leg), {
          legs: "aleg",
          aleg_url: `${base}/transfer/${call_ref}?to=${bare(to)}&from=${bare(from)}`,
          aleg_method: "POST",
        }),
      ).catch((error: unknown) => refused("the transfer", error)),
    sendDtmf: (call, digits) =>
      onLeg(lookup, call, (leg) => rest.post(`${callPath(leg)}DTMF/`, { digits })).catch((error: unknown) =>
        refused("the keys", error),
      ),
    // the name of the call goes with the address, for Plivo's report names the leg only
    record: (call, { callback_base, call_ref, limit_seconds }) =>
      onLeg(lookup, call, (leg) =>
        rest.post(`${callPath(leg)}Record/`, {
          time_limit: limit_seconds,
          file_format: "wav",
          record_channel_type: "stereo",
          callback_url: `${callback_base}/recording/${call_ref}?${CALL_FIELD}=${encodeURIComponent(call.call_id)}`,
          callback_method: "POST",
        }),
      ).catch((error: unknown) => refused("the recording", error)),
    openRecording: ({ recording_id, url }) => openRecording(rest, recording_id, url),
    recordingsOf: (call) => recordingsOf(rest, call),
    fetch: (call) => lookup.fetch(call).catch(unreachable),
    find: (sought) => lookup.find(sought).catch(unreachable),
    verify: (request) => isSigned(options.auth_token, options.public_http_url, request),
    verifyUpgrade: () => true,
    translate,
    answerDocument: (kind, reply, at) => {
      if (kind === "transfer") {
        const { to, from } = transferOf(at.path);
        return xml(dialDocument(to, from));
      }
      const stream = kind === "answer" ? streamIn(at.path) : null;
      if (stream !== null) return xml(streamDocument(stream, at));
      return xml(reply === null ? emptyDocument() : turnDocument(reply, at));
    },
    inbound: inboundOf,
    async answerInbound({ from, to }, decision) {
      if (decision.kind === "reject") return xml(rejectDocument(decision.message, decision.language));
      // a caller who withheld the number has none to show
      if (decision.kind === "redirect") return xml(dialDocument(bare(decision.to), from === null ? bare(to) : null));
      if (decision.media.kind === "audio")
        return xml(inboundStreamDocument(decision.media.url, decision.talk_seconds, decision));
      return xml(connectDocument(decision.greeting, decision.talk_seconds, decision.media.token, decision));
    },
  };
}
