import { randomUUID } from "node:crypto";
import type { Exchange } from "../exchange/exchange.ts";
import type { InboundProtocol } from "../exchange/protocol.ts";
import type { Call } from "../exchange/call.ts";
import type { InboundAddresses, InboundNumbers } from "../exchange/inbound-calls.ts";
import type { Callbacks } from "./callbacks.ts";
import { CAUSES } from "./hangup-causes.ts";
import { parseDocument } from "./plivo-xml.ts";
import type { CallParams } from "./params.ts";
import type { PlivoAccount, PlivoCall } from "./plivo-call.ts";

/** What calls to our numbers need. */
export interface InboundDeps {
  exchange: Exchange;
  accounts: readonly PlivoAccount[];
  protocol: InboundProtocol;
  /** Keeps Plivo's own record of the call. */
  keep(call: Call, account: PlivoAccount, params: CallParams): void;
}

/** The parameters of a call that did not come over REST: its addresses are those of the number's application. */
const paramsOf = ({ voice_url, status_url }: InboundAddresses, { order: { to, from } }: Call): CallParams => ({
  to,
  from,
  answer: { url: voice_url, method: "POST" },
  ring: null,
  hangup: { url: status_url ?? voice_url, method: "POST" },
  ringTimeoutSeconds: 0,
  timeLimitSeconds: 14_400,
  amd: null,
});

/** Plivo's numbers, as people call them. */
export function createInboundNumbers({ exchange, accounts, protocol, keep }: InboundDeps): InboundNumbers {
  const addresses = new Map<string, InboundAddresses>();
  const accountOf = (id: string | null): PlivoAccount | undefined =>
    id === null ? accounts[0] : accounts.find((a) => a.authId === id);
  return {
    setAddresses(id, given) {
      const account = accountOf(id);
      if (account) addresses.set(account.authId, given);
      return account ? null : "there is no such account";
    },
    dialIn({ account: id, from, to, withheld }) {
      const account = accountOf(id);
      const given = account ? addresses.get(account.authId) : undefined;
      if (!account) return "there is no such account";
      if (!given) return "this account has no application: POST /inbound-address first";
      const call = exchange.dialIn(
        { sid: randomUUID(), account: account.authId, from, to, withheld, details: { answer_url: given.voice_url } },
        protocol,
      );
      keep(call, account, paramsOf(given, call));
      return call;
    },
  };
}

/** Our number rings: the application's document decides. One that begins with a Hangup at once is not answered, every other is. Throws when there is none. */
export async function followAnswerUrl(exchange: Exchange, callbacks: Callbacks, plivoCall: PlivoCall): Promise<void> {
  const { call, params } = plivoCall;
  const text = await callbacks.fetchDocument(plivoCall, params.answer, "StartApp", {});
  const [first] = text.trim() === "" ? [] : parseDocument(text).verbs;
  if (!first || (first.verb === "Hangup" && first.schedule === null)) {
    plivoCall.cause = first ? CAUSES.rejected : CAUSES.endOfXml;
    exchange.end(call, first?.verb === "Hangup" && first.reason === "busy" ? "busy" : "no-answer", "api", 603);
    return;
  }
  plivoCall.document = text;
  exchange.answer(call);
}
