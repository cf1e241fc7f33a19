import { randomUUID } from "node:crypto";
import { behaviourOf } from "../../people/behaviours.ts";
import { type Exchange } from "../exchange/exchange.ts";
import { personOf } from "../exchange/call.ts";
import type { Ledger } from "../ledger/ledger.ts";
import type { EndedBy } from "../ledger/entries.ts";
import { bridge, playToEnd } from "../exchange/bridged-leg.ts";
import { runRelay, type RelayDeps } from "../relay/relay-session.ts";
import type { RelaySettings } from "../relay/relay-settings.ts";
import type { SimTime } from "../exchange/simulated-time.ts";
import { shownFrom, type Events } from "./callbacks.ts";
import type { Recordings } from "./recordings.ts";
import { stream } from "./stream.ts";
import { newCallControlId, type TelnyxCall } from "./telnyx-call.ts";

/** What answered calls stand on. */
export interface AnsweredCallDeps extends RelayDeps {
  exchange: Exchange;
  time: SimTime;
  ledger: Ledger;
  events: Events;
  recordings: Recordings;
}

/** A person's greeting is short, and silence follows: they are known after about this long, simulated ms. */
const HUMAN_AFTER_MS = 1_800;
/** A greeting that goes on for this long is voicemail's; silence that lasts so long is no person. */
const ANALYSIS_MS = 3_500;
const KEY_MS = 300;

const over = ({ call }: TelnyxCall): Promise<void> =>
  new Promise((resolve) => {
    if (call.over.aborted) resolve();
    else call.over.addEventListener("abort", () => resolve(), { once: true });
  });

/** Takes the call out of what it is led by, for something else. */
function taken(telnyxCall: TelnyxCall): AbortSignal {
  telnyxCall.leave.abort();
  telnyxCall.leave = new AbortController();
  return AbortSignal.any([telnyxCall.call.over, telnyxCall.leave.signal]);
}

/** Listens who answered and tells it; nothing waits for it. */
export async function detect({ ledger, events }: AnsweredCallDeps, telnyxCall: TelnyxCall): Promise<void> {
  const {
    call,
    settings: { amd },
  } = telnyxCall;
  if (amd === "disabled") return;
  const { sid, to, from } = call.order;
  const [prefix, words] =
    amd === "premium"
      ? (["call.machine.premium", { human: "human_residence", silent: "silence" }] as const)
      : (["call.machine", { human: "human", silent: "not_sure" }] as const);
  const silent = behaviourOf(personOf(call)).temper === "silent";
  const [result, afterMs] = call.machine
    ? ["machine", call.machine.startsMs + ANALYSIS_MS]
    : silent
      ? [words.silent, ANALYSIS_MS]
      : [words.human, HUMAN_AFTER_MS];
  if (!(await call.leg.time.wait(afterMs, call.over))) return;
  ledger.write({ kind: "amd", call_sid: sid, to, from, answered_by: result });
  events.send(telnyxCall, `${prefix}.detection.ended`, { result });
  if (!call.machine || amd === "detect" || !(await call.leg.time.wait(call.machine.beepEndsMs - afterMs, call.over)))
    return;
  events.send(telnyxCall, `${prefix}.greeting.ended`, { result: "beep_detected" });
}

/** Connects the call to an application's WebSocket, in place of what it was led by. */
export async function relay(parts: AnsweredCallDeps, telnyxCall: TelnyxCall, settings: RelaySettings): Promise<void> {
  const { call, account, legId, sessionId } = telnyxCall;
  const { sid, to } = call.order;
  const id = randomUUID();
  const end = await runRelay(
    parts,
    {
      call,
      settings,
      headers: { "user-agent": "telnyx-conversation-relay" },
      setup: {
        type: "setup",
        sessionId: id,
        accountSid: account.connectionId,
        callSid: sid,
        callControlId: sid,
        callSessionId: sessionId,
        callLegId: legId,
        from: shownFrom(call),
        to,
        direction: call.direction,
        callerName: "",
        callStatus: "active",
        customParameters: settings.parameters,
      },
    },
    taken(telnyxCall),
  );
  if (end.error)
    parts.ledger.write({ kind: "warning", call_sid: sid, to, from: call.order.from, message: end.error.message });
  parts.events.send(telnyxCall, "call.conversation.ended", {
    conversation_id: id,
    duration_sec: end.seconds,
    reason: end.status === "failed" ? "customer_disconnect" : null,
  });
}

/** Says something to the end, or until the call goes elsewhere. */
export async function speak({ events }: AnsweredCallDeps, telnyxCall: TelnyxCall, text: string): Promise<void> {
  const leave = taken(telnyxCall);
  events.send(telnyxCall, "call.speak.started");
  await playToEnd(telnyxCall.call, leave, () =>
    telnyxCall.call.leg.voice.say(text, { last: true, interruptible: false }),
  );
  events.send(telnyxCall, "call.speak.ended", { status: telnyxCall.call.over.aborted ? "call_hangup" : "completed" });
}

/** Presses keys towards the person. */
export const pressKeys = ({ call }: TelnyxCall, digits: string): void =>
  call.leg.voice.play(`keys:${digits}`, digits.length * KEY_MS, { interruptible: false });

/** Connects the call to another number; when that leg ends, so does the call. */
export async function transfer(parts: AnsweredCallDeps, telnyxCall: TelnyxCall, number: string): Promise<void> {
  const { call } = telnyxCall;
  const leave = taken(telnyxCall);
  const leg = newCallControlId();
  const { status } = await bridge(parts, call, { number, sid: leg }, leave);
  if (status === "completed") parts.events.send(telnyxCall, "call.bridged");
  if (!leave.aborted) parts.exchange.end(call, "completed", "carrier");
}

/** Leads an answered call: it obeys commands until its end, and is relayed and recorded as it was requested. */
export async function runAnsweredCall(parts: AnsweredCallDeps, telnyxCall: TelnyxCall): Promise<EndedBy> {
  const { call, settings } = telnyxCall;
  const leave = call.leg.listen({
    sounding: () => undefined,
    key: (digit) => parts.events.send(telnyxCall, "call.dtmf.received", { digit }),
  });
  if (settings.record) parts.recordings.start(telnyxCall, settings.record);
  const running = [
    detect(parts, telnyxCall),
    ...(settings.relay ? [relay(parts, telnyxCall, settings.relay)] : []),
    ...(settings.stream ? [stream(parts, telnyxCall, settings.stream)] : []),
  ];
  await over(telnyxCall);
  leave();
  parts.recordings.stop(telnyxCall);
  await Promise.all(running);
  return call.endedBy ?? "carrier";
}
