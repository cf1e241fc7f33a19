import { createHash } from "node:crypto";
import { heldNumbers } from "../../http/held-numbers.ts";
import type { Reply, Request } from "../../http/messages.ts";
import { API_VERSION } from "../call-resource.ts";
import type { Account } from "../twilio-call.ts";

/** What an account is and has: read before a call, never by one. */

const NUMBERS_PAGE_SIZE = 50;
const HELD_SINCE = "Thu, 01 Jan 2026 00:00:00 +0000";
const PATH = new RegExp(
  `^/${API_VERSION}/Accounts/([^/.]+)(?:/(IncomingPhoneNumbers|OutgoingCallerIds))?(?:\\.json)?$`,
);
/** Countries that an account may call, of Twilio's voice API. */
export const PERMISSIONS_PATH = "/v1/DialingPermissions/Countries/";

/** https://www.twilio.com/docs/phone-numbers/api/incomingphonenumber-resource, as far as a number without settings of its own shows it. */
function numberResource(accountSid: string, phoneNumber: string): Record<string, unknown> {
  const sid = `PN${createHash("md5").update(`${accountSid} ${phoneNumber}`).digest("hex")}`;
  return {
    sid,
    account_sid: accountSid,
    friendly_name: phoneNumber,
    phone_number: phoneNumber,
    api_version: API_VERSION,
    capabilities: { voice: true, sms: false, mms: false, fax: false },
    origin: "twilio",
    status: "in-use",
    beta: false,
    trunk_sid: null,
    voice_url: "",
    voice_method: "POST",
    date_created: HELD_SINCE,
    date_updated: HELD_SINCE,
    uri: `/${API_VERSION}/Accounts/${accountSid}/IncomingPhoneNumbers/${sid}.json`,
  };
}

/** The list of IncomingPhoneNumbers: the account's numbers (`own` null: every number is), those that match `PhoneNumber` where it is asked for; one page. */
export function listNumbers(
  own: ReadonlySet<string> | null,
  accountSid: string,
  { query, path }: Pick<Request, "query" | "path">,
): Reply {
  const numbers = heldNumbers(own, query.get("PhoneNumber") ?? "").slice(0, NUMBERS_PAGE_SIZE);
  return {
    status: 200,
    body: {
      first_page_uri: `${path}?PageSize=${NUMBERS_PAGE_SIZE}&Page=0`,
      end: Math.max(0, numbers.length - 1),
      previous_page_uri: null,
      incoming_phone_numbers: numbers.map((number) => numberResource(accountSid, number)),
      uri: `${path}?${query}`,
      page_size: NUMBERS_PAGE_SIZE,
      start: 0,
      next_page_uri: null,
      page: 0,
    },
  };
}

/** https://www.twilio.com/docs/voice/api/outgoing-caller-ids: numbers of others that were verified; all of an account's in one page. */
function listVerified(account: Account, { query, path }: Pick<Request, "query" | "path">): Reply {
  const sought = query.get("PhoneNumber");
  const found = (account.verified ?? []).filter((number) => sought === null || number === sought);
  return {
    status: 200,
    body: {
      outgoing_caller_ids: found.map((phone_number) => ({
        sid: `PN${createHash("md5").update(`${account.sid} verified ${phone_number}`).digest("hex")}`,
        account_sid: account.sid,
        friendly_name: phone_number,
        phone_number,
        date_created: HELD_SINCE,
        date_updated: HELD_SINCE,
      })),
      uri: `${path}?${query}`,
      page: 0,
      page_size: NUMBERS_PAGE_SIZE,
      next_page_uri: null,
    },
  };
}

/** https://www.twilio.com/docs/iam/api/account */
const accountResource = ({ sid, type = "Full" }: Account): Reply => ({
  status: 200,
  body: {
    sid,
    friendly_name: "simulated",
    status: "active",
    type,
    owner_account_sid: sid,
    date_created: HELD_SINCE,
    date_updated: HELD_SINCE,
    uri: `/${API_VERSION}/Accounts/${sid}.json`,
  },
});

/** https://www.twilio.com/docs/voice/api/dialingpermissions-country-resource */
const permissionResource = ({ deniedCountries = [] }: Account, iso_code: string): Reply => ({
  status: 200,
  body: {
    iso_code,
    name: iso_code,
    low_risk_numbers_enabled: !deniedCountries.includes(iso_code),
    high_risk_special_numbers_enabled: false,
    high_risk_tollfraud_numbers_enabled: false,
  },
});

/** Answers a GET of what the account is and has; null when it is about something else. `own`: its numbers; null: every number is. */
export function answerAccount(account: Account, own: ReadonlySet<string> | null, request: Request): Reply | null {
  if (request.path.startsWith(PERMISSIONS_PATH))
    return permissionResource(account, request.path.slice(PERMISSIONS_PATH.length));
  const [whole, sid, list] = PATH.exec(request.path) ?? [];
  if (whole === undefined || sid !== account.sid) return null;
  if (list === undefined) return accountResource(account);
  return list === "IncomingPhoneNumbers" ? listNumbers(own, account.sid, request) : listVerified(account, request);
}
