import type { Exchange } from "../exchange/exchange.ts";
import type { InboundProtocol } from "../exchange/protocol.ts";
import { CallRecords } from "../exchange/call-records.ts";
import type { Call, CallPhase } from "../exchange/call.ts";
import type { Faults } from "../exchange/faults.ts";
import type { Reply, Request } from "../http/messages.ts";
import type { InboundNumbers } from "../exchange/inbound-calls.ts";
import type { Ledger } from "../ledger/ledger.ts";
import type { SimTime } from "../exchange/simulated-time.ts";
import { detect } from "./amd.ts";
import { createCallbacks } from "./callbacks.ts";
import { createInboundNumbers, followVoiceUrl } from "./inbound.ts";
import type { CallParams, StatusEvent } from "./params.ts";
import { runProgram, type ProgramDeps } from "./program.ts";
import { createRecordings } from "./recordings.ts";
import { answerRest, ringTimeoutMs, type RestDeps } from "./rest.ts";
import type { Account, TwilioCall } from "./twilio-call.ts";
import { restoreCalls } from "../exchange/earlier-calls.ts";

/** Twilio's protocol over the exchange. */
export interface TwilioProvider {
  /** Answers a REST request; null when it is not for this provider. */
  answer(request: Request): Reply | null;
  /** Calls to the accounts' numbers. */
  readonly inbound: InboundNumbers;
  close(): void;
}

/** What the provider stands on. */
export interface TwilioOptions {
  exchange: Exchange;
  time: SimTime;
  ledger: Ledger;
  faults: Faults;
  accounts: readonly Account[];
  ownNumbers: readonly string[] | null;
  endCutsSpeech: boolean;
}

const EVENTS: Partial<Record<CallPhase, StatusEvent>> = {
  initiated: "initiated",
  ringing: "ringing",
  answered: "answered",
  ended: "completed",
};

/** Writes a REST request and its answer down. */
function noteRequest(
  { ledger, time }: Pick<TwilioOptions, "ledger" | "time">,
  { method, path, query, form }: Request,
  reply: Reply,
): void {
  ledger.write({
    kind: "request",
    method,
    path,
    status: reply.drop ? null : reply.status,
    params: Object.fromEntries(
      [...new Set([...query.keys(), ...form.keys()])].map((name) => {
        const all = [...query.getAll(name), ...form.getAll(name)];
        return [name, all.length === 1 ? all[0] : all];
      }),
    ),
    ...(typeof reply.body === "object" && reply.body !== null && "sid" in reply.body
      ? { call_sid: String(reply.body.sid) }
      : {}),
    simulated_ms: Math.round(time.elapsedMs()),
  });
}

const newTwilioCall = (
  call: Call,
  account: Account,
  params: CallParams,
  answeredBy: string | null = null,
): TwilioCall => ({
  call,
  account,
  params,
  parentSid: null,
  answeredBy,
  redirect: { leave: new AbortController(), next: null },
  sequence: 0,
});

/** Sets up Twilio's REST API, callbacks and relay. */
export function createTwilio(options: TwilioOptions): TwilioProvider {
  const { exchange, ledger } = options;
  const calls = new CallRecords(restoreTwilioCalls(ledger, options.accounts));
  const callbacks = createCallbacks(options);
  const recordings = createRecordings({ time: options.time, callbacks });
  const deps: ProgramDeps = { ...options, callbacks, record: (...asked) => recordings.start(...asked) };

  const protocol: InboundProtocol = {
    onInbound: (call) => followVoiceUrl(exchange, callbacks, calls.of(call)),
    onPhase(call) {
      const event = EVENTS[call.phase];
      if (event) callbacks.status(calls.of(call), event);
    },
    async runAnsweredCall(call) {
      const twilioCall = calls.of(call);
      const { amd, record } = twilioCall.params;
      if (record) recordings.start(twilioCall, record);
      const detecting = amd ? detect(twilioCall, amd, deps) : null;
      if (detecting && !amd?.async) await detecting; // without AsyncAmd the document waits for the verdict
      return runProgram(deps, twilioCall);
    },
  };
  const keep = (call: Call, account: Account, params: CallParams): TwilioCall =>
    calls.keep(newTwilioCall(call, account, params));
  const rest: RestDeps = {
    exchange,
    faults: options.faults,
    calls: calls.bySid,
    recordings,
    accounts: new Map(options.accounts.map((a) => [a.sid, a])),
    ownNumbers: options.ownNumbers ? new Set(options.ownNumbers) : null,
    place(sid, account, params, reference) {
      const call = exchange.place(
        {
          sid,
          account: account.sid,
          to: params.to,
          from: params.from,
          reference,
          ringTimeoutMs: ringTimeoutMs(params),
          maxAnsweredMs: params.timeLimitSeconds * 1000,
          details: { status_callback: params.status?.url ?? null, answer_url: params.answer?.url ?? null },
        },
        protocol,
      );
      return keep(call, account, params);
    },
  };

  return {
    inbound: createInboundNumbers({ exchange, callbacks, accounts: options.accounts, protocol, keep }),
    answer(request) {
      const reply = answerRest(rest, request);
      if (reply) noteRequest(options, request, reply);
      return reply;
    },
    close: () => callbacks.close(),
  };
}
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
function restoreTwilioCalls(ledger: Ledger, accounts: readonly Account[]): Map<string, TwilioCall> {
  const recalled = (account: Account): [string, TwilioCall][] =>
    restoreCalls(ledger, account.sid).map(({ call, row }) => [
      row.sid,
      newTwilioCall(call, account, { ...NOTHING_TO_DO, to: row.to, from: row.from }, row.answered_by),
    ]);
  return new Map(accounts.flatMap(recalled));
}
