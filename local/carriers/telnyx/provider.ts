import { CallRecords } from "../exchange/call-records.ts";
import type { Exchange } from "../exchange/exchange.ts";
import type { InboundProtocol } from "../exchange/protocol.ts";
import type { Call } from "../exchange/call.ts";
import type { Faults } from "../exchange/faults.ts";
import type { Reply, Request } from "../http/messages.ts";
import type { InboundAddresses, InboundNumbers } from "../exchange/inbound-calls.ts";
import type { Ledger } from "../ledger/ledger.ts";
import { restoreCalls } from "../exchange/earlier-calls.ts";
import { createCallbackDelivery } from "../http/callback-reporter.ts";
import type { SimTime } from "../exchange/simulated-time.ts";
import { NO_SETTINGS } from "./request-bodies.ts";
import { costOf, hangupOf } from "./hangup-causes.ts";
import { createEvents, eventOf, moment, type Events } from "./callbacks.ts";
import { createRecordings } from "./recordings.ts";
import { answerRest, type RestDeps } from "./rest.ts";
import { createSigner } from "./signature.ts";
import { runAnsweredCall, type AnsweredCallDeps } from "./answered-call.ts";
import {
  newCallControlId,
  stateText,
  telnyxCall as newTelnyxCall,
  type TelnyxAccount,
  type TelnyxCall,
  type TelnyxSettings,
} from "./telnyx-call.ts";

/** Telnyx's protocol over the exchange. */
export interface TelnyxProvider {
  /** Answers a REST request or a recording's link; null when it is not for this provider. */
  answer(request: Request): Reply | null;
  /** Calls to the accounts' numbers. */
  readonly inbound: InboundNumbers;
  /** Checks the callbacks' signatures (base64). */
  readonly publicKey: string;
  close(): void;
}

/** What the provider stands on. */
export interface TelnyxOptions {
  exchange: Exchange;
  time: SimTime;
  ledger: Ledger;
  faults: Faults;
  accounts: readonly TelnyxAccount[];
  ownNumbers: readonly string[] | null;
  endCutsSpeech: boolean;
  /** Same seed, same key pair. */
  seed: string;
}

/** Command ids are forgotten beyond this many. */
const MAX_COMMANDS_KEPT = 100_000;
/** The price of a call is known this long after its end, simulated ms. */
const COST_AFTER_MS = 3_000;
/** Longest body that the ledger keeps of a request. */
const MAX_NOTED_CHARS = 10_000;

const startOf = (call: Call) => ({ start_time: moment(call.startedAt ?? call.createdAt) });

/** What happens on a call, as events. */
function sendPhase(events: Events, telnyxCall: TelnyxCall): void {
  const { call } = telnyxCall;
  const inbound = call.direction === "inbound";
  switch (call.phase) {
    case "initiated":
      if (!inbound)
        events.send(telnyxCall, "call.initiated", { direction: "outgoing", state: "bridging", ...startOf(call) });
      return;
    case "ringing":
      if (inbound)
        events.send(telnyxCall, "call.initiated", { direction: "incoming", state: "parked", ...startOf(call) });
      return;
    case "answered":
      events.send(telnyxCall, "call.answered", { state: "answered", ...startOf(call) });
      return;
    case "ended":
      events.send(telnyxCall, "call.hangup", {
        state: "hangup",
        ...startOf(call),
        end_time: moment(call.endedAt ?? new Date()),
        ...hangupOf(call),
      });
      return;
    case "queued":
      return;
  }
}

/** The calls of an earlier run, with as much of their events as the ledger tells. */
function restoredCalls(ledger: Ledger, accounts: readonly TelnyxAccount[]): Map<string, TelnyxCall> {
  return new Map(
    accounts.flatMap((account) =>
      restoreCalls(ledger, account.connectionId).map(({ call, row }): [string, TelnyxCall] => {
        const clientState = row.reference === null ? null : Buffer.from(row.reference).toString("base64");
        const telnyxCall = newTelnyxCall(call, account, "", { ...NO_SETTINGS, clientState });
        const note = (type: string, more: Record<string, unknown>, at: Date | null): void => {
          if (at) telnyxCall.events.push(eventOf(telnyxCall, type, more, at));
        };
        note("call.initiated", { direction: call.direction === "inbound" ? "incoming" : "outgoing" }, call.startedAt);
        note("call.answered", {}, call.answeredAt);
        note("call.hangup", hangupOf(call), call.endedAt ?? new Date());
        return [row.sid, telnyxCall];
      }),
    ),
  );
}

function noteRequest({ ledger, time }: TelnyxOptions, { method, path, query, body }: Request, reply: Reply): void {
  let params: unknown = Object.fromEntries(query);
  if (body !== "" && body.length <= MAX_NOTED_CHARS) {
    try {
      params = JSON.parse(body);
    } catch {
      params = body;
    }
  }
  const data = typeof reply.body === "object" && reply.body !== null && "data" in reply.body ? reply.body.data : null;
  const id =
    typeof data === "object" && data !== null && "call_control_id" in data ? String(data.call_control_id) : null;
  ledger.write({
    kind: "request",
    method,
    path,
    status: reply.drop ? null : reply.status,
    params,
    ...(id === null ? {} : { call_sid: id }),
    simulated_ms: Math.round(time.elapsedMs()),
  });
}

/** What people find when they call the accounts' numbers: the application's address receives the event, and commands say what to do. */
function createInboundNumbers(parts: {
  exchange: Exchange;
  accounts: readonly TelnyxAccount[];
  protocol: InboundProtocol;
  addresses: Map<string, InboundAddresses>;
  keep(call: Call, account: TelnyxAccount): void;
}): InboundNumbers {
  const accountOf = (id: string | null): TelnyxAccount | undefined =>
    id === null ? parts.accounts[0] : parts.accounts.find((a) => a.connectionId === id);
  return {
    setAddresses(id, given) {
      const account = accountOf(id);
      if (!account) return "there is no such account";
      parts.addresses.set(account.connectionId, given);
      return null;
    },
    dialIn({ account: id, from, to, withheld }) {
      const account = accountOf(id);
      if (!account) return "there is no such account";
      const given = parts.addresses.get(account.connectionId);
      if (!given) return "this account's application has no webhook address: POST /inbound-address first";
      const call = parts.exchange.dialIn(
        {
          sid: newCallControlId(),
          account: account.connectionId,
          from,
          to,
          withheld,
          details: { webhook_url: given.voice_url },
        },
        parts.protocol,
      );
      parts.keep(call, account);
      return call;
    },
  };
}

/** Starts calls that were accepted; one whose command_id was seen is the call of that time. */
function placing(
  exchange: Exchange,
  protocol: InboundProtocol,
  keep: (call: Call, account: TelnyxAccount, origin: string, settings: TelnyxSettings) => TelnyxCall,
): RestDeps["place"] {
  const byCommand = new Map<string, TelnyxCall>();
  return (account, { to, from, timeoutSeconds, timeLimitSeconds, commandId, settings }, origin) => {
    const again = commandId === null ? undefined : byCommand.get(commandId);
    if (again) return again;
    const call = exchange.place(
      {
        sid: newCallControlId(),
        account: account.connectionId,
        to,
        from,
        reference: stateText(settings.clientState),
        ringTimeoutMs: timeoutSeconds * 1000,
        maxAnsweredMs: timeLimitSeconds * 1000,
        details: { webhook_url: settings.webhookUrl },
      },
      protocol,
    );
    const telnyxCall = keep(call, account, origin, settings);
    if (commandId !== null) byCommand.set(commandId, telnyxCall);
    const first = byCommand.keys().next();
    if (byCommand.size > MAX_COMMANDS_KEPT && !first.done) byCommand.delete(first.value);
    return telnyxCall;
  };
}

/** Sets up Telnyx's REST API, events and relay. */
export function createTelnyx(options: TelnyxOptions): TelnyxProvider {
  const { exchange, ledger, time, faults, accounts } = options;
  const calls = new CallRecords(restoredCalls(ledger, accounts));
  const addresses = new Map<string, InboundAddresses>();
  const signer = createSigner(options.seed);
  const reporter = createCallbackDelivery({ time, ledger, faults });
  const events = createEvents({
    reporter,
    signer,
    address: ({ account }) => addresses.get(account.connectionId)?.voice_url ?? null,
  });
  const recordings = createRecordings({ time, events });
  const deps: AnsweredCallDeps = { ...options, events, recordings };

  const protocol: InboundProtocol = {
    onPhase(call) {
      const telnyxCall = calls.of(call);
      sendPhase(events, telnyxCall);
      if (call.phase === "ended" && call.answeredAt)
        time.after(COST_AFTER_MS, () => events.send(telnyxCall, "call.cost", costOf(call)));
    },
    onInbound: async () => undefined, // the event of the ring has asked already; commands answer
    runAnsweredCall: (call) => runAnsweredCall(deps, calls.of(call)),
  };
  const keep = (call: Call, account: TelnyxAccount, origin: string, settings: TelnyxSettings): TelnyxCall =>
    calls.keep(newTelnyxCall(call, account, origin, settings));
  const rest: RestDeps = {
    answered: deps,
    faults,
    accounts,
    ownNumbers: options.ownNumbers ? new Set(options.ownNumbers) : null,
    calls: calls.bySid,
    place: placing(exchange, protocol, keep),
  };

  return {
    publicKey: signer.publicKey,
    inbound: createInboundNumbers({
      exchange,
      accounts,
      protocol,
      addresses,
      keep: (call, account) => {
        keep(call, account, "", NO_SETTINGS);
      },
    }),
    answer(request) {
      const file = recordings.download(request);
      if (file) return file;
      const reply = answerRest(rest, request);
      if (reply) noteRequest(options, request, reply);
      return reply;
    },
    close: () => reporter.close(),
  };
}
