import { heldNumbers } from "../http/held-numbers.ts";
import { faultedReply } from "../http/placement.ts";
import { behaviourOf } from "../../people/behaviours.ts";
import type { Faults } from "../exchange/faults.ts";
import type { Reply, Request } from "../http/messages.ts";
import { dialIn, fieldsOf, needed, type DialBody } from "./request-bodies.ts";
import { applyCommand } from "./commands.ts";
import { RequestError, telnyxError } from "./errors.ts";
import { callShown, listActive, listEvents, pageOf } from "./call-list.ts";
import type { AnsweredCallDeps } from "./answered-call.ts";
import type { TelnyxAccount, TelnyxCall } from "./telnyx-call.ts";

/** What the REST API stands on. */
export interface RestDeps {
  answered: AnsweredCallDeps;
  faults: Faults;
  accounts: readonly TelnyxAccount[];
  /** Numbers that may be called from; null: any. */
  ownNumbers: ReadonlySet<string> | null;
  calls: ReadonlyMap<string, TelnyxCall>;
  /** Starts a call that was accepted; one whose command_id was seen is the call of that time. */
  place(account: TelnyxAccount, body: DialBody, origin: string): TelnyxCall;
}

/** A call is shown this long after its end, real ms. */
const SHOWN_AFTER_END_MS = 600_000;

const missing = (): Reply =>
  telnyxError(404, "10005", "Resource not found", "The requested resource or URL could not be found.");

/** The origin the asker knows us by, also behind a proxy that says so. */
function originOf({ headers }: Request): string {
  const forwarded = headers["x-forwarded-host"];
  return `http://${typeof forwarded === "string" ? forwarded : (headers.host ?? "127.0.0.1")}`;
}

function dial(parts: RestDeps, request: Request, own: readonly TelnyxAccount[]): Reply {
  const { faults, ownNumbers, place } = parts;
  const fields = fieldsOf(request.body);
  const to = typeof fields["to"] === "string" ? fields["to"] : "";
  const limited = faults.take("rate_limit", to);
  if (limited)
    return telnyxError(429, "10011", "Too many requests", "You have exceeded the maximum number of allowed requests.", {
      "retry-after": String(Math.ceil(limited.seconds)),
    });
  const connection = needed(fields, "connection_id");
  const account = own.find((a) => a.connectionId === connection) ?? own[0];
  if (!account) return missing();
  const body = dialIn(fields, account.connectionId);
  if (behaviourOf(body.to).line === "refused")
    throw new RequestError("10002", "Invalid phone number", `The phone number ${body.to} is invalid.`);
  if (ownNumbers && !ownNumbers.has(body.from))
    throw new RequestError(
      "D36",
      "Unverified origination number",
      `Caller Origination Number ${body.from} is not owned by the account.`,
      403,
    );
  const reply: Reply = {
    status: 200,
    body: { data: { ...callShown(place(account, body, originOf(request))), is_alive: false } },
  };
  return faultedReply(
    faults,
    body.to,
    reply,
    telnyxError(500, "10007", "Unexpected error", "An unexpected error occurred."),
  );
}

function ofCall(
  parts: RestDeps,
  request: Request,
  own: readonly TelnyxAccount[],
  id: string,
  action: string | undefined,
): Reply {
  const telnyxCall = parts.calls.get(id);
  if (!telnyxCall || !own.includes(telnyxCall.account)) {
    return action === undefined
      ? missing()
      : telnyxError(422, "90015", "Invalid Call Control ID", "The call_control_id provided was not valid.");
  }
  if (telnyxCall.origin === "") telnyxCall.origin = originOf(request);
  if (action !== undefined)
    return request.method === "POST"
      ? { status: 200, body: { data: applyCommand(parts.answered, telnyxCall, action, request.body) } }
      : missing();
  const { endedAt, leg } = telnyxCall.call;
  return request.method !== "GET" ||
    (endedAt && leg.time.clock.now().getTime() - endedAt.getTime() > SHOWN_AFTER_END_MS)
    ? missing()
    : { status: 200, body: { data: callShown(telnyxCall) } };
}

/** `GET /v2/phone_numbers`: the numbers of the key's account; the filter takes digits alone and finds none with anything else. */
function listNumbers(ownNumbers: RestDeps["ownNumbers"], own: readonly TelnyxAccount[], query: URLSearchParams): Reply {
  const sought = query.get("filter[phone_number]") ?? "";
  const found = /^\d*$/.test(sought) ? heldNumbers(ownNumbers, sought) : [];
  return pageOf(
    found.map((phone_number) => ({
      id: phone_number.replace(/\D/g, ""),
      record_type: "phone_number",
      phone_number,
      status: "active",
      connection_id: own[0]?.connectionId ?? "",
      phone_number_type: "local",
      purchased_at: "2026-01-01T00:00:00.000Z",
    })),
    query,
  );
}

function route(parts: RestDeps, request: Request, own: readonly TelnyxAccount[]): Reply {
  const [, , resource, id = "", more, action] = request.path.split("/").map(decodeURIComponent);
  const get = request.method === "GET";
  if (resource === "calls" && id === "") return request.method === "POST" ? dial(parts, request, own) : missing();
  if (resource === "calls" && (more === undefined || (more === "actions" && action !== undefined)))
    return ofCall(parts, request, own, id, action);
  if (resource === "connections" && more === "active_calls" && get && own.some((a) => a.connectionId === id))
    return listActive(parts.calls.values(), id, request.query);
  const calls = [...parts.calls.values()].filter((c) => own.includes(c.account));
  if (resource === "call_events" && get) return listEvents(calls, request.query, new Date());
  if (resource === "phone_numbers" && get && id === "") return listNumbers(parts.ownNumbers, own, request.query);
  if (resource === "recordings" && get && id === "")
    return parts.answered.recordings.list(
      request.query,
      own.map((a) => a.connectionId),
    );
  if (resource === "recordings" && get) {
    const shown = own.map((a) => parts.answered.recordings.show(id, a.connectionId));
    return shown.find((reply) => reply.status === 200) ?? missing();
  }
  return missing();
}

/** Answers one REST request; null when the path is not this API's. */
export function answerRest(parts: RestDeps, request: Request): Reply | null {
  if (!request.path.startsWith("/v2/")) return null;
  const [scheme = "", key = ""] = (request.headers.authorization ?? "").split(" ");
  const own = scheme.toLowerCase() === "bearer" ? parts.accounts.filter((a) => a.apiKey === key) : [];
  if (own.length === 0)
    return telnyxError(401, "10009", "Authentication failed", "Could not understand the provided credentials.");
  try {
    return route(parts, request, own);
  } catch (error) {
    if (error instanceof RequestError) return telnyxError(error.status, error.code, error.title, error.message);
    throw error;
  }
}
