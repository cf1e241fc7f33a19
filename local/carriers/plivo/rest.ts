import { randomUUID } from "node:crypto";
import { behaviourOf } from "../../people/behaviours.ts";
import { heldNumbers } from "../http/held-numbers.ts";
import { basicCredentials, faultedReply, referenceIn } from "../http/placement.ts";
import type { Exchange } from "../exchange/exchange.ts";
import type { Faults } from "../exchange/faults.ts";
import type { Reply, Request } from "../http/messages.ts";
import { hook, integer, ParamError, readCallParams, text, type CallParams, type Fields } from "./params.ts";
import type { PlivoAccount, PlivoCall } from "./plivo-call.ts";
import { bare, endedRecord, listEnded, liveRecord, matchesNumbers, queuedRecord } from "./call-resource.ts";
import { recordingFile, recordingRecord, type Recordings } from "./recordings.ts";

/** What the REST API stands on. */
export interface RestDeps {
  exchange: Exchange;
  faults: Faults;
  accounts: ReadonlyMap<string, PlivoAccount>;
  /** Numbers that may be called from; null: any. */
  ownNumbers: ReadonlySet<string> | null;
  calls: ReadonlyMap<string, PlivoCall>;
  recordings: Recordings;
  /** Starts a call that was accepted. */
  place(account: PlivoAccount, params: CallParams, reference: string | null): PlivoCall;
}

/** One request with what is known of it. */
interface RestRequest {
  request: Request;
  account: PlivoAccount;
  fields: Fields;
  apiId: string;
}

const PATH = /^\/v1\/Account\/([^/]+)\/(.*)$/;
const KEY_TONE_MS = 300;
const NO_ENTRY = "Could not verify your access level for that URL.\nYou have to login with proper credentials";

const error = (status: number, apiId: string, message: string, headers: Record<string, string> = {}): Reply => ({
  status,
  headers,
  body: { api_id: apiId, error: message },
});
const missing = (apiId: string): Reply => error(404, apiId, "not found");
const isWaiting = ({ call: { phase } }: PlivoCall): boolean => phase === "queued";
const isLive = ({ call: { phase } }: PlivoCall): boolean =>
  phase === "initiated" || phase === "ringing" || phase === "answered";

function fieldsOf({ body, headers, form }: Request): Fields {
  if (body === "") return {};
  if (!(headers["content-type"] ?? "").startsWith("application/json")) return Object.fromEntries(form);
  try {
    const parsed: unknown = JSON.parse(body);
    if (typeof parsed === "object" && parsed !== null && !Array.isArray(parsed)) return { ...parsed };
  } catch {
    // told below
  }
  throw new ParamError("the body is not a JSON object");
}

function create({ faults, ownNumbers, place }: RestDeps, { account, fields, apiId }: RestRequest): Reply {
  const to = `+${bare(String(fields["to"] ?? ""))}`;
  const limited = faults.take("rate_limit", to);
  if (limited)
    return error(429, apiId, "Too many requests, please try again later.", {
      "retry-after": String(Math.ceil(limited.seconds)),
    });
  const params = readCallParams(fields, ownNumbers, (number) => behaviourOf(number).line === "refused");
  const { requestUuid } = place(account, params, referenceIn(params.answer.url, params.hangup.url));
  return faultedReply(
    faults,
    to,
    { status: 201, body: { api_id: apiId, message: "call fired", request_uuid: requestUuid } },
    error(500, apiId, "Internal Server Error"),
  );
}

/** GET …/Call/: calls that are over, or the names of those under way or waiting. */
function list(parts: RestDeps, { request: { query, path }, account, apiId }: RestRequest): Reply {
  const own = [...parts.calls.values()].filter((c) => c.account === account);
  const status = query.get("status");
  if (status === null) return listEnded(own, query, apiId, path);
  if (status !== "live" && status !== "queued") return error(400, apiId, "status should be live or queued");
  const found = own.filter((c) => (status === "live" ? isLive(c) : isWaiting(c)) && matchesNumbers(c, query));
  return { status: 200, body: { api_id: apiId, calls: found.map((c) => c.call.order.sid) } };
}

function show(plivoCall: PlivoCall, { request: { query }, apiId }: RestRequest): Reply {
  const status = query.get("status");
  if (status === "live")
    return isLive(plivoCall) ? { status: 200, body: liveRecord(plivoCall, apiId) } : missing(apiId);
  if (status === "queued")
    return isWaiting(plivoCall) ? { status: 200, body: queuedRecord(plivoCall, apiId) } : missing(apiId);
  return plivoCall.call.phase === "ended" ? { status: 200, body: endedRecord(plivoCall, apiId) } : missing(apiId);
}

function transfer(plivoCall: PlivoCall, { fields, apiId }: RestRequest): Reply {
  const { legs = "aleg" } = fields;
  if (legs !== "aleg") throw new ParamError("legs: this simulator transfers the aleg only");
  const next = hook(fields, "aleg_url");
  if (!next) throw new ParamError("aleg_url parameter is required");
  plivoCall.redirect.next = next;
  plivoCall.redirect.leave.abort();
  return { status: 202, body: { api_id: apiId, call_uuids: [plivoCall.call.order.sid], message: "call transferred" } };
}

function pressKeys({ call }: PlivoCall, { fields, apiId }: RestRequest): Reply {
  const digits = text(fields, "digits");
  if (!/^[0-9*#wW@]+$/.test(digits)) throw new ParamError("digits should be keys");
  call.leg.voice.play(`keys:${digits}`, digits.length * KEY_TONE_MS, { interruptible: false });
  return { status: 202, body: { api_id: apiId, message: "digits sent" } };
}

function record(
  { recordings }: RestDeps,
  plivoCall: PlivoCall,
  { request: { method }, fields, apiId }: RestRequest,
): Reply {
  if (method === "DELETE") return recordings.stop(plivoCall) ? { status: 204 } : missing(apiId);
  const { file_format: format = "mp3", record_channel_type: channels = "mono" } = fields;
  if (format !== "mp3" && format !== "wav") throw new ParamError("file_format should be mp3 or wav");
  if (plivoCall.recording) return error(400, apiId, "the call is being recorded already");
  const recording = recordings.start(
    plivoCall,
    {
      timeLimitSeconds: integer(fields, "time_limit", 60, 1, 86_400),
      format,
      stereo: channels === "stereo",
      hook: hook(fields, "callback_url"),
    },
    apiId,
  );
  return {
    status: 202,
    body: { api_id: apiId, message: "call recording started", recording_id: recording.id, url: recording.url },
  };
}

function ofCall(parts: RestDeps, asked: RestRequest, id: string, action: string | undefined): Reply {
  const {
    request: { method },
    account,
    apiId,
  } = asked;
  const plivoCall = parts.calls.get(id);
  if (!plivoCall || plivoCall.account !== account) return missing(apiId);
  if (method === "GET" && action === undefined) return show(plivoCall, asked);
  if (!isLive(plivoCall)) return missing(apiId);
  const { call } = plivoCall;
  if (method === "DELETE" && action === undefined) {
    if (call.phase === "answered") parts.exchange.end(call, "completed", "api");
    else parts.exchange.end(call, "canceled", "api", 487);
    return { status: 204 };
  }
  if (call.phase !== "answered") return error(400, apiId, "the call is not in progress");
  if (method === "POST" && action === undefined) return transfer(plivoCall, asked);
  if (method === "POST" && action === "DTMF") return pressKeys(plivoCall, asked);
  return action === "Record" && method !== "GET" ? record(parts, plivoCall, asked) : missing(apiId);
}

/** DELETE …/Request/{uuid}/: cancels a call that is not answered yet. */
function cancel({ calls, exchange }: RestDeps, { account, apiId }: RestRequest, id: string): Reply {
  const plivoCall = [...calls.values()].find((c) => c.requestUuid === id && c.account === account);
  if (!plivoCall || plivoCall.call.phase === "answered" || plivoCall.call.phase === "ended") return missing(apiId);
  exchange.end(plivoCall.call, "canceled", "api", 487);
  return { status: 204 };
}

/** GET …/Number/{number}/: one of the account's numbers, in digits. */
function showNumber({ ownNumbers }: RestDeps, { account: { authId }, apiId }: RestRequest, digits: string): Reply {
  if (!heldNumbers(ownNumbers, digits).includes(`+${digits}`)) return missing(apiId);
  return {
    status: 200,
    body: {
      api_id: apiId,
      added_on: "2026-01-01",
      alias: null,
      application: null,
      carrier: "Plivo",
      monthly_rental_rate: "0.80000",
      number: digits,
      number_type: "local",
      resource_uri: `/v1/Account/${authId}/Number/${digits}/`,
      sms_enabled: false,
      sub_account: null,
      voice_enabled: true,
      voice_rate: "0.00850",
    },
  };
}

function route(parts: RestDeps, asked: RestRequest, path: string): Reply {
  const {
    request: { method },
    account,
    apiId,
  } = asked;
  const [resource = "", id = "", action, ...more] = path
    .split("/")
    .filter((part) => part !== "")
    .map(decodeURIComponent);
  if (more.length > 0) return missing(apiId);
  if (resource === "Call" && id === "")
    return method === "POST"
      ? create(parts, asked)
      : method === "GET"
        ? list(parts, asked)
        : error(405, apiId, "method not allowed");
  if (resource === "Call") return ofCall(parts, asked, id, action);
  if (resource === "Number" && method === "GET" && action === undefined) return showNumber(parts, asked, id);
  if (resource === "Request" && method === "DELETE") return cancel(parts, asked, id);
  if (resource === "Recording" && method === "GET" && id === "")
    return parts.recordings.list(account.authId, asked.request.query, apiId);
  if (resource === "Recording" && method === "GET") {
    const file = /^(.+)\.(?:wav|mp3)$/.exec(id);
    const found = parts.recordings.get(account.authId, file?.[1] ?? id);
    return (
      (found && (file ? recordingFile(found) : { status: 200, body: recordingRecord(found, apiId) })) ?? missing(apiId)
    );
  }
  return missing(apiId);
}

/** Answers one REST request; null when the path is not this API's. */
export function answerRest(parts: RestDeps, request: Request): Reply | null {
  const [, accountId, path = ""] = PATH.exec(request.path) ?? [];
  if (accountId === undefined) return null;
  const given = basicCredentials(request);
  const account = given ? parts.accounts.get(given.name) : undefined;
  if (!account || account.authToken !== given?.password || account.authId !== accountId)
    return { status: 401, body: NO_ENTRY, headers: { "www-authenticate": 'Basic realm="Login Required"' } };
  const apiId = randomUUID();
  try {
    return route(parts, { request, account, fields: fieldsOf(request), apiId }, path);
  } catch (thrown) {
    if (thrown instanceof ParamError) return error(400, apiId, thrown.message);
    throw thrown;
  }
}
