import type { Call } from "./call.ts";
import type { Reply, Request } from "../http/messages.ts";

/** The addresses a carrier asks when a person calls a number of the account. Real carriers keep them at the number or its application. */
export interface InboundAddresses {
  /** Asked what to do with the call. */
  voice_url: string;
  /** Receives the call's status, where the carrier has such a setting; null: no status is sent. */
  status_url: string | null;
}

/** A person's call as asked for; `account` null: the carrier's first. */
export interface InboundCallRequest {
  account: string | null;
  from: string;
  to: string;
  withheld: boolean;
}

/** What a carrier's protocol offers for calls to our numbers. A string is what is wrong with the request. */
export interface InboundNumbers {
  setAddresses(account: string | null, addresses: InboundAddresses): string | null;
  dialIn(wish: InboundCallRequest): Call | string;
}

const E164 = /^\+[1-9]\d{6,14}$/;
const bad = (message: string): Reply => ({ status: 400, body: { message } });

function fieldsOf(body: string): Record<string, unknown> {
  try {
    const parsed: unknown = JSON.parse(body);
    return typeof parsed === "object" && parsed !== null ? { ...parsed } : {};
  } catch {
    return {};
  }
}

const isUrl = (value: unknown): value is string =>
  typeof value === "string" && URL.canParse(value) && /^https?:$/.test(new URL(value).protocol);

function setAddresses(
  numbers: InboundNumbers,
  account: string | null,
  { url, status_url }: Record<string, unknown>,
): Reply {
  if (!isUrl(url)) return bad("url must be the http(s) address that is asked what to do with a call");
  if (status_url !== undefined && status_url !== null && !isUrl(status_url))
    return bad("status_url must be an http(s) address");
  const wrong = numbers.setAddresses(account, { voice_url: url, status_url: status_url ?? null });
  return wrong === null ? { status: 204 } : bad(wrong);
}

function dialIn(
  numbers: InboundNumbers,
  account: string | null,
  { from, to, withheld }: Record<string, unknown>,
): Reply {
  if (typeof from !== "string" || !E164.test(from))
    return bad("from must be the calling person's number (E.164); its last two digits tell how they behave");
  if (typeof to !== "string" || !E164.test(to)) return bad("to must be one of our numbers (E.164)");
  const call = numbers.dialIn({ account, from, to, withheld: withheld === true });
  return typeof call === "string" ? bad(call) : { status: 201, body: { sid: call.order.sid } };
}

/**
 * The pages by which people call us; null when the request is for another one.
 * `POST /inbound-address {"carrier","account"?,"url","status_url"?}` sets where the carrier turns to,
 * `POST /inbound {"carrier","account"?,"from","to","withheld"?}` has a person call and answers {"sid"}.
 */
export function answerInbound(
  byCarrier: Readonly<Record<string, InboundNumbers>>,
  { method, path, body }: Request,
): Reply | null {
  if (method !== "POST" || (path !== "/inbound" && path !== "/inbound-address")) return null;
  const fields = fieldsOf(body);
  const { carrier } = fields;
  const numbers = typeof carrier === "string" && Object.hasOwn(byCarrier, carrier) ? byCarrier[carrier] : undefined;
  if (!numbers) return bad(`carrier must be one of ${Object.keys(byCarrier).join(", ")}`);
  const account = typeof fields["account"] === "string" ? fields["account"] : null;
  return path === "/inbound" ? dialIn(numbers, account, fields) : setAddresses(numbers, account, fields);
}
