import { CallRecords } from "../exchange/call-records.ts";
import { randomUUID } from "node:crypto";
import type { Exchange } from "../exchange/exchange.ts";
import type { InboundProtocol } from "../exchange/protocol.ts";
import type { Call } from "../exchange/call.ts";
import type { Faults } from "../exchange/faults.ts";
import type { Reply, Request } from "../http/messages.ts";
import type { InboundNumbers } from "../exchange/inbound-calls.ts";
import type { Ledger } from "../ledger/ledger.ts";
import type { EndedBy } from "../ledger/entries.ts";
import { restoreCalls } from "../exchange/earlier-calls.ts";
import type { SimTime } from "../exchange/simulated-time.ts";
import { detect } from "./amd.ts";
import { createCallbacks } from "./callbacks.ts";
import { createInboundNumbers, followAnswerUrl } from "./inbound.ts";
import type { CallParams } from "./params.ts";
import type { PlivoAccount, PlivoCall } from "./plivo-call.ts";
import { runProgram } from "./program.ts";
import { createRecordings } from "./recordings.ts";
import { answerRest, type RestDeps } from "./rest.ts";

/** Plivo's protocol over the exchange. */
export interface PlivoProvider {
  /** Answers a REST request; null when it is not for this provider. */
  answer(request: Request): Reply | null;
  /** Calls to the accounts' numbers. */
  readonly inbound: InboundNumbers;
  close(): void;
}

/** What the provider stands on. */
export interface PlivoOptions {
  exchange: Exchange;
  time: SimTime;
  ledger: Ledger;
  faults: Faults;
  accounts: readonly PlivoAccount[];
  ownNumbers: readonly string[] | null;
}

const NOWHERE = { url: "http://127.0.0.1:9/", method: "POST" } as const;

/** Writes a REST request and its answer down. */
function noteRequest({ ledger, time }: PlivoOptions, { method, path, query, body }: Request, reply: Reply): void {
  let params: unknown = Object.fromEntries(query);
  try {
    if (body !== "") params = JSON.parse(body);
  } catch {
    params = { body };
  }
  const told =
    typeof reply.body === "object" && reply.body !== null && "request_uuid" in reply.body
      ? { request_uuid: reply.body.request_uuid }
      : {};
  ledger.write({
    kind: "request",
    method,
    path,
    status: reply.drop ? null : reply.status,
    params,
    ...told,
    simulated_ms: Math.round(time.elapsedMs()),
  });
}

function plivoCallOf(call: Call, account: PlivoAccount, params: CallParams, requestUuid: string | null): PlivoCall {
  return {
    call,
    account,
    params,
    requestUuid,
    cause: null,
    redirect: { leave: new AbortController(), next: null },
    document: null,
    answeredSimMs: 0,
    recording: null,
  };
}

/** The calls of an earlier run, by their name. Their requests' names are forgotten: nothing waits any more. */
function restoredCalls({ ledger, accounts }: PlivoOptions): Map<string, PlivoCall> {
  return new Map(
    accounts.flatMap((account) =>
      restoreCalls(ledger, account.authId).map(({ call, row: { sid, to, from } }): [string, PlivoCall] => [
        sid,
        plivoCallOf(
          call,
          account,
          {
            to,
            from,
            answer: NOWHERE,
            ring: null,
            hangup: NOWHERE,
            ringTimeoutSeconds: 0,
            timeLimitSeconds: 0,
            amd: null,
          },
          null,
        ),
      ]),
    ),
  );
}

/** Sets up Plivo's REST API, callbacks and documents. */
export function createPlivo(options: PlivoOptions): PlivoProvider {
  const { exchange, time } = options;
  const calls = new CallRecords(restoredCalls(options));
  const callbacks = createCallbacks(options);
  const recordings = createRecordings({ time, callbacks });
  const parts = { ...options, callbacks };

  const protocol: InboundProtocol = {
    onInbound: (call) => followAnswerUrl(exchange, callbacks, calls.of(call)),
    onPhase(call) {
      if (call.phase === "ringing" && call.direction === "outbound") callbacks.ring(calls.of(call));
      if (call.phase === "ended") callbacks.hangup(calls.of(call));
    },
    async runAnsweredCall(call): Promise<EndedBy> {
      const plivoCall = calls.of(call);
      plivoCall.answeredSimMs = call.leg.time.elapsedMs();
      const detected = detect(parts, plivoCall);
      // without an address of its own the verdict goes with the request for the document, which waits for it
      return runProgram(parts, plivoCall, plivoCall.params.amd?.hook === null ? await detected : {});
    },
  };
  const keep = (call: Call, account: PlivoAccount, params: CallParams, requestUuid: string | null = null): PlivoCall =>
    calls.keep(plivoCallOf(call, account, params, requestUuid));
  const rest: RestDeps = {
    exchange,
    faults: options.faults,
    calls: calls.bySid,
    recordings,
    accounts: new Map(options.accounts.map((a) => [a.authId, a])),
    ownNumbers: options.ownNumbers ? new Set(options.ownNumbers) : null,
    place(account, params, reference) {
      const requestUuid = randomUUID();
      const call = exchange.place(
        {
          sid: randomUUID(),
          account: account.authId,
          to: params.to,
          from: params.from,
          reference,
          ringTimeoutMs: params.ringTimeoutSeconds * 1000,
          maxAnsweredMs: params.timeLimitSeconds * 1000,
          details: { status_callback: params.hangup.url, answer_url: params.answer.url, request_uuid: requestUuid },
        },
        protocol,
      );
      return keep(call, account, params, requestUuid);
    },
  };

  return {
    inbound: createInboundNumbers({ exchange, accounts: options.accounts, protocol, keep }),
    answer(request) {
      const reply = answerRest(rest, request);
      if (reply) noteRequest(options, request, reply);
      return reply;
    },
    close: () => callbacks.close(),
  };
}
