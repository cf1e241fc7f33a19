import { DEFAULT_LISTENING } from "../../../shared/contracts/records/listening-settings.ts";
import { beepWait } from "../../../services/conversation/pipelines/beep-wait.ts";
import { textRelayPipeline } from "../../../services/conversation/pipelines/text-relay/text-relay-pipeline.ts";
import type { PipelineHost } from "../../../services/conversation/pipelines/port.ts";
import { step } from "../../../services/conversation/dialogue/dialogue-manager.ts";
import {
  newDialogue,
  type Effect,
  type StopReason,
  type DialogueEvent,
  type DialogueState,
} from "../../../services/conversation/dialogue/dialogue-state.ts";
import { conversationFacts } from "../../../services/conversation/dialogue/conversation-facts.ts";
import type { TextLeg, TextLegEvents } from "../../../services/conversation/transport/port.ts";
import type { VoicemailAction } from "../../../shared/contracts/records/configuration.ts";
import { outcomeOf, isRetried } from "../../../services/leads/rules/outcomes.ts";
import { noFacts } from "../../../shared/contracts/records/attempt.ts";
import { answer, heard, PAYLOAD, started, testFlow } from "../../fixtures/flow-template.ts";
import { virtualClock } from "../../fixtures/virtual-clock.ts";

const MESSAGE = "Hello {{customer}}, please call {{shop}} back.";
const SAID = "Hello Ada, please call Northwind back.";
const flow = testFlow({ voicemail_message: MESSAGE });
const MACHINE: DialogueEvent = { type: "machine" };
const BEEP: DialogueEvent = { type: "beep" };
type Script = (DialogueEvent | ((s: DialogueState) => DialogueEvent))[];

function play(policy: VoicemailAction, script: Script, on = flow): { state: DialogueState; last: readonly Effect[] } {
  return script.reduce<{ state: DialogueState; last: readonly Effect[] }>(
    ({ state }, entry) => {
      const done = step(on, state, typeof entry === "function" ? entry(state) : entry);
      return { state: done.state, last: done.effects };
    },
    { state: newDialogue(PAYLOAD, policy), last: [] },
  );
}
const OPENED: Script = [started, answer("Ada, do you confirm order A-17?")];
const outcome = (state: DialogueState): string =>
  outcomeOf({ ...noFacts("completed"), machine: true, talk: conversationFacts(state) });

describe("a machine", () => {
  test("hangup: the call ends at once", () => {
    const { state, last } = play("hangup", [...OPENED, MACHINE]);
    expect(last).toEqual([{ type: "end", ended_by: "agent", goodbye: null, at_once: true, transferred: false }]);
    expect([conversationFacts(state).message_left, outcome(state)]).toEqual([false, "voicemail"]);
  });
  test("continue: nothing changes, a generation under way least of all", () => {
    const before = play("continue", [started]).state;
    expect(step(flow, before, { ...MACHINE, said: "Ada, do" })).toEqual({ state: before, effects: [] });
    expect(play("continue", [...OPENED, MACHINE, heard("Yes.")]).last.map((e) => e.type)).toEqual(["think"]);
  });
  test("leave_message: silence, then at the beep the message and the end", () => {
    const waiting = play("leave_message", [...OPENED, MACHINE]);
    expect(waiting.last).toEqual([{ type: "await_beep", message: SAID }]);
    for (const event of [
      heard("You have reached the mailbox of"),
      { type: "dtmf", digits: "1" },
      { type: "idle" },
      MACHINE,
      started,
    ] satisfies DialogueEvent[]) {
      expect(step(flow, waiting.state, event)).toEqual({ state: waiting.state, effects: [] });
    }
    const cut = step(flow, waiting.state, { type: "interrupted", spoken: "Good" });
    expect([cut.effects, cut.state.mode, cut.state.transcript.map((l) => l.content)]).toEqual([
      [],
      "voicemail",
      ["Good"],
    ]);
    const { state: saying, last } = play("leave_message", [...OPENED, MACHINE, heard("Leave a message."), BEEP]);
    expect(last).toEqual([{ type: "end", ended_by: "agent", goodbye: SAID, at_once: false, transferred: false }]);
    expect(saying.message_left).toBe(false);
    const { state } = step(flow, saying, { type: "played_out" });
    expect(conversationFacts(state)).toMatchObject({
      machine: true,
      message_left: true,
      ended_by: "agent",
      user_turns: 0,
      transcription: [{}, {}, { role: "assistant", content: SAID }],
    });
    expect(outcome(state)).toBe("voicemail");
    expect(isRetried({ ...noFacts("completed"), machine: true, talk: conversationFacts(state) }, null)).toBe(false);
  });
  test("known before the conversation began: nobody is greeted", () => {
    const { state, last } = play("leave_message", [MACHINE, started]);
    expect(last).toEqual([]);
    expect(state.transcript).toEqual([]);
  });
  test.each([[null], ["{{customer}}"]])(
    "leave_message with the message %j and nothing to fill it in: as hangup",
    (voicemail_message) =>
      expect(step(testFlow({ voicemail_message }), newDialogue({}, "leave_message"), MACHINE).effects).toMatchObject([
        { type: "end", goodbye: null, at_once: true },
      ]),
  );
  test("a carrier that says the message itself: the line going is our end, and a time-out is too", () => {
    for (const end of [
      { type: "stopped", reason: "carrier_ended" },
      { type: "stopped", reason: "hung_up" },
      BEEP,
    ] satisfies DialogueEvent[]) {
      const { state, last } = play("leave_message", [...OPENED, MACHINE, { type: "message_handed" }, end]);
      expect(last).toMatchObject([{ type: "end", goodbye: null, at_once: true }]);
      expect(conversationFacts(state)).toMatchObject({ message_left: true, ended_by: "agent", machine: true });
    }
  });
  test.each<[StopReason, string, string[]]>([
    ["hung_up", "customer", []],
    ["carrier_ended", "customer", []],
    ["window_closed", "agent", []],
    ["shutdown", "error", ["SHUTDOWN"]],
    ["shutdown_now", "error", ["SHUTDOWN"]],
    ["lease_lost", "error", ["LEASE_LOST"]],
    ["media_failed", "error", ["MEDIA_FAILED"]],
  ])("before the beep, %s: ended by %s, without a word on the machine", (reason, ended_by, codes) => {
    const { state, last } = play("leave_message", [...OPENED, MACHINE, { type: "stopped", reason }]);
    expect(last.at(-1)).toMatchObject({ type: "end", goodbye: null, at_once: true });
    expect(conversationFacts(state)).toMatchObject({
      ended_by,
      message_left: false,
      machine: true,
      errors: codes.map((code) => ({ code })),
    });
    expect(outcome(state)).toBe("voicemail");
  });
  test("the longest length ends the wait without a word; a beep without a machine is nothing", () => {
    expect(play("leave_message", [...OPENED, MACHINE, { type: "time_up" }]).last).toMatchObject([
      { type: "end", goodbye: null, at_once: true },
    ]);
    for (const policy of ["hangup", "continue", "leave_message"] as const)
      expect(play(policy, [...OPENED, BEEP]).last).toEqual([]);
  });
});

describe("what counts as a beep", () => {
  const wait = (tells_beep: boolean) => {
    const clock = virtualClock();
    let over = 0;
    return {
      clock,
      over: () => over,
      beep: beepWait(clock, tells_beep, () => {
        over++;
      }),
    };
  };
  test("a carrier that tells it is waited for, half a minute at most", async () => {
    const t = wait(true);
    t.beep.speechChanged(true);
    t.beep.speechChanged(false);
    await t.clock.advance(29_900);
    expect(t.over()).toBe(0);
    await t.clock.advance(200);
    expect(t.over()).toBe(1);
  });
  test("else 1.2 s of silence after the machine's last word, or 5 s where nothing is told of it", async () => {
    const t = wait(false);
    t.beep.speechChanged(true);
    await t.clock.advance(10_000);
    t.beep.speechChanged(false);
    await t.clock.advance(1100);
    t.beep.speechChanged(true);
    t.beep.speechChanged(false);
    await t.clock.advance(1100);
    expect(t.over()).toBe(0);
    await t.clock.advance(200);
    await t.clock.advance(60_000);
    expect(t.over()).toBe(1);
    const silent = wait(false);
    await silent.clock.advance(5100);
    expect(silent.over()).toBe(1);
    const stopped = wait(false);
    stopped.beep.stop();
    await stopped.clock.advance(60_000);
    expect(stopped.over()).toBe(0);
  });
});

describe("the engine at a machine", () => {
  function open(over: Partial<TextLeg> = {}, tells_beep = false) {
    const clock = virtualClock();
    const did: string[] = [];
    const told: DialogueEvent[] = [];
    const pressed: string[] = [];
    let events: TextLegEvents | null = null;
    const leg: TextLeg = {
      listen: (e) => {
        events = e;
      },
      say: (text, how) => did.push(`${text}${how.last ? "|" : ""}${how.interruptible ? "" : "!"}`),
      end: () => did.push("<end>"),
      close: () => {
        did.push("<close>");
        events?.closed();
      },
      ...over,
    };
    const host: PipelineHost = {
      finality: () => null,
      ready: () => undefined,
      dispatch: (e) => told.push(e),
      listening: () => false,
      dtmfCollection: () => null,
      opening: () => false,
      idle_ms: 4000,
      signals_beep: tells_beep,
      sendDtmf: (keys) => pressed.push(keys),
      recordAnswer: () => undefined,
      recordError: () => undefined,
      preview: () => [],
      speechSettings: { language: "en-US", voice: null, listening: DEFAULT_LISTENING },
      recordLatency: () => undefined,
    };
    const aborted: string[] = [];
    const voice = textRelayPipeline(
      {
        answer: (_request, { signal, onText }) =>
          new Promise(() => {
            onText("Ada, ");
            signal.addEventListener("abort", () => aborted.push("aborted"));
          }),
      },
      clock,
    )(leg, host);
    return {
      clock,
      did,
      told,
      pressed,
      aborted,
      voice,
      events: () =>
        events ??
        ((): never => {
          throw new Error("nobody listens");
        })(),
    };
  }
  test("lets the generation go and says nothing more; the machine's silence is the beep", async () => {
    const t = open();
    t.voice.perform({ type: "think", turn: 1, messages: [], tools: [], interruptible: true });
    t.voice.perform({ type: "await_beep", message: SAID });
    expect(t.aborted).toEqual(["aborted"]);
    expect(t.did).toEqual(["Ada,", "|"]);
    t.events().customer(true);
    t.events().prompt("You have reached", false);
    await t.clock.advance(9000);
    t.events().prompt("You have reached Ada.", true);
    expect(t.told).toEqual([{ type: "heard", text: "You have reached Ada." }]);
    await t.clock.advance(1300);
    expect(t.told.at(-1)).toEqual({ type: "beep" });
    t.voice.perform({ type: "end", ended_by: "agent", goodbye: SAID, at_once: false, transferred: false });
    expect(t.did.at(-1)).toBe(`${SAID}|!`);
  });
  test("a leg that leaves messages by itself is told once; taken, it gets its time, then the wait is over", async () => {
    const taken: (() => void)[] = [];
    const orders: [string, number][] = [];
    const t = open({
      leaveMessage: (message, patience_seconds, then) => {
        orders.push([message, patience_seconds]);
        taken.push(then);
      },
    });
    t.voice.perform({ type: "await_beep", message: SAID });
    expect(orders).toEqual([[SAID, 30]]);
    await t.clock.advance(60_000);
    expect(t.told).toEqual([]);
    taken[0]?.();
    expect(t.told).toEqual([{ type: "message_handed" }]);
    await t.clock.advance(47_000);
    expect(t.told.length).toBe(1);
    await t.clock.advance(1000);
    expect(t.told.at(-1)).toEqual({ type: "beep" });
  });
  test("keys go over the leg where it has them, else over the bus", () => {
    const [bare, able] = [
      open(),
      open({
        sendDtmf: (digits) => {
          keyed.push(digits);
        },
      }),
    ];
    const keyed: string[] = [];
    for (const t of [bare, able]) t.voice.perform({ type: "keys", digits: "1w2#" });
    expect([keyed, bare.pressed, able.pressed]).toEqual([["1w2#"], ["1w2#"], []]);
  });
});
