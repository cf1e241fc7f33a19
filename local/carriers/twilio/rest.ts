import { randomBytes } from "node:crypto";
import { basicCredentials, faultedReply, referenceIn } from "../http/placement.ts";
import type { Exchange } from "../exchange/exchange.ts";
import type { Faults } from "../exchange/faults.ts";
import type { Reply, Request } from "../http/messages.ts";
import { behaviourOf } from "../../people/behaviours.ts";
import { answerAccount, PERMISSIONS_PATH } from "./account/account-resources.ts";
import { ParamError, twilioError } from "./errors.ts";
import { listCalls } from "./call-list.ts";
import { hook, inlineTwiml, readCallParams, TIMEOUT_BUFFER_SECONDS, type CallParams } from "./params.ts";
import type { Recordings } from "./recordings.ts";
import { API_VERSION, callResource } from "./call-resource.ts";
import type { Account, TwilioCall } from "./twilio-call.ts";

/** What the REST API stands on. */
export interface RestDeps {
  exchange: Exchange;
  faults: Faults;
  accounts: ReadonlyMap<string, Account>;
  /** Numbers that may be called from; null: any. */
  ownNumbers: ReadonlySet<string> | null;
  calls: Map<string, TwilioCall>;
  recordings: Recordings;
  /** Starts a call that was accepted. */
  place(sid: string, account: Account, params: CallParams, reference: string | null): TwilioCall;
}

const PATH = new RegExp(`^/${API_VERSION}/Accounts/([^/]+)/Calls(?:/([^/]+?))?(?:\\.json)?$`);
function authenticate(request: Request, accounts: ReadonlyMap<string, Account>): Account | null {
  const given = basicCredentials(request);
  const account = given ? accounts.get(given.name) : undefined;
  return account && account.authToken === given?.password ? account : null;
}

function create({ faults, ownNumbers, place }: RestDeps, request: Request, account: Account): Reply {
  const { form } = request;
  const to = form.get("To") ?? "";
  const limited = faults.take("rate_limit", to);
  if (limited)
    return twilioError(429, 20429, "Too Many Requests", { "retry-after": String(Math.ceil(limited.seconds)) });
  const params = readCallParams(form, ownNumbers, (number) => behaviourOf(number).line === "refused");
  const reference = referenceIn(params.status?.url, params.answer?.url ?? params.twiml);
  const sid = `CA${randomBytes(16).toString("hex")}`;
  const reply: Reply = { status: 201, body: callResource(place(sid, account, params, reference)) };
  return faultedReply(faults, to, reply, twilioError(500, 20500, "Internal Server Error"));
}

const NOT_IN_PROGRESS = (): Reply =>
  twilioError(400, 21220, "Unable to update record. Call is not in-progress. Cannot redirect.");

function update({ exchange }: RestDeps, { form }: Request, twilioCall: TwilioCall): Reply {
  const { call } = twilioCall;
  const status = form.get("Status");
  const twiml = inlineTwiml(form);
  const url = hook(form, "Url", "Method");
  if (status !== null && status !== "completed" && status !== "canceled")
    throw new ParamError(21218, `Status must be completed or canceled, not ${status}`);
  if (status === null && twiml === null && url === null)
    throw new ParamError(21217, "give Status, Url or Twiml to change a call");
  if (call.phase === "ended") return NOT_IN_PROGRESS();
  if (status !== null) {
    if (call.phase !== "answered") exchange.end(call, "canceled", "api", 487);
    else if (status === "completed") exchange.end(call, "completed", "api");
    // canceled leaves a call in progress alone: https://www.twilio.com/docs/voice/api/call-resource#update-a-call-resource
  } else {
    if (call.phase !== "answered") return NOT_IN_PROGRESS();
    twilioCall.redirect.next = twiml === null ? url : { twiml };
    twilioCall.redirect.leave.abort();
  }
  return { status: 200, body: callResource(twilioCall) };
}

/** Answers one REST request; null when the path is not this API's. */
export function answerRest(parts: RestDeps, request: Request): Reply | null {
  if (!request.path.startsWith(`/${API_VERSION}/`) && !request.path.startsWith(PERMISSIONS_PATH)) return null;
  const account = authenticate(request, parts.accounts);
  if (!account || parts.faults.take("refuse_credentials", ""))
    return twilioError(401, 20003, "Authenticate", { "www-authenticate": 'Basic realm="Twilio API"' });
  const [, accountSid, callSid] = PATH.exec(request.path) ?? [];
  const missing = (): Reply => twilioError(404, 20404, `The requested resource ${request.path} was not found`);
  try {
    const recording = parts.recordings.answer(request, account, (sid) => parts.calls.get(sid));
    if (recording) return recording;
    const owned = request.method === "GET" ? answerAccount(account, parts.ownNumbers, request) : null;
    if (owned) return owned;
    if (accountSid !== account.sid) return missing();
    if (callSid === undefined) {
      if (request.method === "POST") return create(parts, request, account);
      if (request.method === "GET") return listCalls(parts.calls, account.sid, request);
    } else {
      const twilioCall = parts.calls.get(callSid);
      if (!twilioCall || twilioCall.account.sid !== account.sid) return missing();
      if (request.method === "GET") return { status: 200, body: callResource(twilioCall) };
      if (request.method === "POST") return update(parts, request, twilioCall);
    }
    return twilioError(405, 20004, `Method ${request.method} is not allowed here`);
  } catch (error) {
    if (error instanceof ParamError) return twilioError(400, error.code, error.message);
    throw error;
  }
}

/** The longest a call with these parameters rings, simulated ms. */
export const ringTimeoutMs = (params: CallParams): number => (params.timeoutSeconds + TIMEOUT_BUFFER_SECONDS) * 1000;
