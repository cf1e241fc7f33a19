import { describe, expect, test } from "@jest/globals";
import { assert, dictionary, property, string, webUrl } from "fast-check";
import { getExpectedTwilioSignature } from "twilio/lib/webhooks/webhooks.js";
import { sign } from "../../../local/carriers/twilio/signature.ts";
import { parseTwiml, TwimlError } from "../../../local/carriers/twilio/twiml.ts";
import { parseXml, XmlError } from "../../../local/carriers/http/xml.ts";
import { startTime } from "../../../local/carriers/exchange/simulated-time.ts";
import { skippingClock } from "../../fixtures/skipping-clock.ts";
import { startVoice, type Heard } from "../../../local/carriers/exchange/agent-voice.ts";
import { behaviourOf } from "../../../local/people/behaviours.ts";
import { SCRIPTS, scriptFor } from "../../../local/people/phrases.ts";
import { FRESH, react } from "../../../local/people/temperaments.ts";
import { gistOf } from "../../../local/people/gist.ts";

test("the signature is the SDK's, for any parameters", () => {
  assert(
    property(
      dictionary(string({ minLength: 1 }), string()),
      webUrl({ withQueryParameters: true }),
      string({ minLength: 1 }),
      (params, url, token) => {
        expect(sign(token, url, new URLSearchParams(params))).toBe(getExpectedTwilioSignature(token, url, params));
      },
    ),
  );
});

test("XML: attributes, entities, CDATA and comments are read, and broken documents refused", () => {
  expect(
    parseXml('<?xml version="1.0"?><!-- x --><a b=\'1 &gt; 0\' c="&#65;&#x42;"><d/>t &amp; u<![CDATA[<raw>]]></a>'),
  ).toEqual({
    name: "a",
    attributes: { b: "1 > 0", c: "AB" },
    children: [{ name: "d", attributes: {}, children: [] }, "t & u", "<raw>"],
  });
  for (const broken of [
    "",
    "text",
    "<a>",
    "<a></b>",
    "<a/><b/>",
    "<a b=1/>",
    "<a>&nope;</a>",
    "<a>R & D</a>",
    "<a b='1' b='2'/>",
    "<a".repeat(40),
  ]) {
    expect(() => parseXml(broken)).toThrow(XmlError);
  }
});

test.each([
  ["<Response><Connect/></Response>", 12200],
  ["<Response><Connect><Room>x</Room></Connect></Response>", 12200],
  ['<Response><Connect><ConversationRelay url="http://x"/></Connect></Response>', 12200],
  ['<Response><Connect><ConversationRelay url="wss://x" interruptible="maybe"/></Connect></Response>', 12200],
  ["<Response><Gather/></Response>", 12201],
  ["<Say>hi</Say>", 12101],
  ["<Response>", 12100],
])("TwiML %s is refused with %s", (text, code) => {
  try {
    parseTwiml(text);
    throw new Error("it was accepted");
  } catch (error) {
    expect(error).toBeInstanceOf(TwimlError);
    expect(error).toMatchObject({ code });
  }
});

test.each([
  ["Hello Ada, this is the shop. May I confirm your order?", "question"],
  ["Is that right?", "question"],
  ["Am I speaking with Ada?", "identity"],
  ["Is this Ada Lovelace?", "identity"],
  ["Which day would suit you better?", "which_day"],
  ["When should we come?", "which_day"],
  ["Would you like to confirm it, or move it to another day?", "which_day"],
  ["Does that day suit you?", "question"],
  ["Are you still there?", "still_there"],
  ["Is there anything else I can do?", "anything_else"],
  ["Thank you, your order is confirmed. Goodbye!", "goodbye"],
  ["Have a nice day.", "goodbye"],
  ["Noted. Is there anything else, or shall I say goodbye?", "anything_else"],
  ["Hello, this is the shop.", "statement"],
  ["", "statement"],
  ["Press 1 to confirm or 2 for another day.", "which_day"],
  ["Please press 1 to confirm.", "question"],
  ["It will cost 3.50 euros. Is that all right?", "question"],
])("%p is understood as %s", (heard, gist) => {
  expect(gistOf(heard)).toBe(gist);
});

describe("people", () => {
  test("every cue of every script has a phrase, and only confirming says yes, only declining says no", () => {
    for (const script of [scriptFor(""), ...SCRIPTS.map((s) => s.script)]) {
      for (const [cue, phrases] of Object.entries(script)) {
        expect(phrases.length).toBeGreaterThan(0);
        for (const phrase of phrases) {
          if (cue !== "confirm") expect(phrase).not.toMatch(/\byes\b|go ahead|confirm/i);
          if (cue !== "decline") expect(phrase).not.toMatch(/\bno\b|cancel|don't want/i);
        }
      }
    }
    expect(scriptFor("your appointment").confirm.join(" ")).toMatch(/appointment/);
    expect(scriptFor("your order").decline.join(" ")).toMatch(/order/);
  });

  test("what they do turn by turn", () => {
    const acts = (temper: Parameters<typeof react>[0], ...gists: Parameters<typeof react>[2][]): string[] => {
      let memory = FRESH;
      return gists.map((gist) => {
        const step = react(temper, memory, gist);
        memory = step.memory;
        return step.act.do === "say" ? step.act.cue : step.act.do;
      });
    };
    expect(acts("confirms", "identity", "question", "statement", "question", "anything_else", "goodbye")).toEqual([
      "identity",
      "confirm",
      "wait",
      "confirm",
      "more",
      "leave",
    ]);
    expect(acts("confirms", "statement", "statement")).toEqual(["still_there", "confirm"]);
    expect(acts("reschedules", "which_day", "which_day", "question")).toEqual(["unsuitable", "day", "repeat_day"]);
    expect(acts("talkative", "question", "question", "question")).toEqual(["small_talk", "small_talk", "confirm"]);
    expect(acts("keypad", "question", "question")).toEqual(["press", "press"]);
    expect(acts("silent", "question", "goodbye")).toEqual(["wait", "wait"]);
  });

  test("the last two digits choose, whatever the number's form", () => {
    expect(behaviourOf("+1 (555) 000-06").name).toBe("busy");
    expect(behaviourOf("+15550000042").name).toBe("confirms");
  });
});

test("a voice gives whole words and always a prefix, however it is cut", async () => {
  const text = "The quick brown fox jumps over the lazy dog while nobody looks.";
  const clock = skippingClock();
  const time = startTime(100, clock);
  try {
    for (const cutAfterMs of [1, 3, 7, 15, 25, 60]) {
      const heard: Heard[] = [];
      const voice = startVoice(time, 15, {
        onStart: () => undefined,
        onPause: () => undefined,
        onHeard: (h) => heard.push(h),
      });
      voice.say(text, { last: true });
      await clock.wait(cutAfterMs);
      const cut = voice.interrupt() ?? heard[0]!;
      expect(text.startsWith(cut.text)).toBe(true);
      expect(cut.text === text || cut.text === "" || text[cut.text.length] === " ").toBe(true);
      expect(voice.current()).toBeNull();
    }
  } finally {
    time.close();
  }
  expect(time.pending()).toBe(0);
});
