import type { Ledger } from "../ledger/ledger.ts";
import { recallCalls } from "../exchange/earlier-calls.ts";
import type { CallParams } from "./params.ts";
import type { Account, TwilioCall } from "./twilio-call.ts";

const NOTHING_TO_DO: Omit<CallParams, "to" | "from"> = {
  twiml: null,
  answer: null,
  fallback: null,
  status: null,
  statusEvents: [],
  timeoutSeconds: 0,
  timeLimitSeconds: 0,
  amd: null,
  record: null,
};

/** The calls of an earlier run of the carrier, by their sid. */
export function recallTwilioCalls(ledger: Ledger, accounts: readonly Account[]): Map<string, TwilioCall> {
  const recalled = (account: Account): [string, TwilioCall][] =>
    recallCalls(ledger, account.sid).map(({ call, row }) => [
      row.sid,
      {
        call,
        account,
        params: { ...NOTHING_TO_DO, to: row.to, from: row.from },
        parentSid: null,
        answeredBy: row.answered_by,
        redirect: { leave: new AbortController(), next: null },
        sequence: 0,
      },
    ]);
  return new Map(accounts.flatMap(recalled));
}
