import { randomBytes } from "node:crypto";
import type { Exchange } from "../exchange/exchange.ts";
import type { InboundProtocol } from "../exchange/protocol.ts";
import type { Call } from "../exchange/call.ts";
import type { InboundAddresses, InboundNumbers } from "../exchange/inbound-calls.ts";
import type { Callbacks } from "./callbacks.ts";
import { STATUS_EVENTS, type CallParams } from "./params.ts";
import { parseTwiml } from "./twiml.ts";
import { shownFrom, type Account, type TwilioCall } from "./twilio-call.ts";

/** What calls to our numbers need. */
export interface InboundDeps {
  exchange: Exchange;
  callbacks: Callbacks;
  accounts: readonly Account[];
  protocol: InboundProtocol;
  /** Keeps Twilio's own record of the call. */
  keep(call: Call, account: Account, params: CallParams): void;
}

/** The parameters of a call that was not asked for over REST: its document comes from the number's voice URL. */
const paramsOf = (addresses: InboundAddresses, call: Call): CallParams => ({
  to: call.order.to,
  from: shownFrom(call),
  twiml: null,
  answer: { url: addresses.voice_url, method: "POST" },
  fallback: null,
  status: addresses.status_url === null ? null : { url: addresses.status_url, method: "POST" },
  statusEvents: [STATUS_EVENTS[3]],
  timeoutSeconds: 0,
  timeLimitSeconds: 14_400,
  amd: null,
  record: null,
});

/** Twilio's numbers, as people call them. */
export function createInboundNumbers({ exchange, accounts, protocol, keep }: InboundDeps): InboundNumbers {
  const addresses = new Map<string, InboundAddresses>();
  const accountOf = (sid: string | null): Account | undefined =>
    sid === null ? accounts[0] : accounts.find((a) => a.sid === sid);
  return {
    setAddresses(sid, given) {
      const account = accountOf(sid);
      if (!account) return "there is no such account";
      addresses.set(account.sid, given);
      return null;
    },
    dialIn({ account: sid, from, to, withheld }) {
      const account = accountOf(sid);
      if (!account) return "there is no such account";
      const given = addresses.get(account.sid);
      if (!given) return "this account has no voice URL: POST /inbound-address first";
      const call = exchange.dialIn(
        {
          sid: `CA${randomBytes(16).toString("hex")}`,
          account: account.sid,
          from,
          to,
          withheld,
          details: { answer_url: given.voice_url },
        },
        protocol,
      );
      keep(call, account, paramsOf(given, call));
      return call;
    },
  };
}

/** Our number rings: the voice URL's document decides. One that begins with Reject is not answered, every other is. Throws when there is no document. */
export async function followVoiceUrl(exchange: Exchange, callbacks: Callbacks, twilioCall: TwilioCall): Promise<void> {
  const { call, params } = twilioCall;
  if (!params.answer) return;
  const twiml = await callbacks.fetchDocument(twilioCall, params.answer, {});
  const [first] = twiml.trim() === "" ? [] : parseTwiml(twiml).verbs;
  if (!first || first.verb === "Reject") {
    exchange.end(call, first?.verb === "Reject" && first.reason === "busy" ? "busy" : "no-answer", "api", 603);
    return;
  }
  params.twiml = twiml;
  exchange.answer(call);
}
