import * as fc from "fast-check";
import { parseDocument } from "../../../../local/carriers/plivo/plivo-xml.ts";
import { parseXml, type XmlElement } from "../../../../local/carriers/http/xml.ts";
import {
  connectDocument,
  dialDocument,
  inboundStreamDocument,
  rejectDocument,
  streamDocument,
  turnDocument,
} from "../../../../services/dialer/carriers/plivo/documents.ts";
import { emptyDocument } from "../../../../services/dialer/carriers/xml.ts";
import { recognitionLanguage, speechVoice } from "../../../../services/dialer/carriers/plivo/voices.ts";
import type { XmlTurnReply } from "../../../../shared/contracts/conversation.ts";
import { plivo, type SdkElement } from "../../../fixtures/carriers/plivo-sdk.ts";

const PLACE = {
  callback_base: "https://calls.example.com/carriers/PROVIDER_TWO",
  call_ref: "7a1c1a2e-0000-4000-8000-000000000001.1",
};
const TURN = `${PLACE.callback_base}/turn/${PLACE.call_ref}?turn=3&lang=en-US`;
const VOICE = { voice: "WOMAN", language: "en-US" };

const reply = (
  say: [string, boolean][],
  next: XmlTurnReply["next"],
  over: Partial<XmlTurnReply> = {},
): XmlTurnReply => ({
  turn: 3,
  say: say.map(([text, interruptible]) => ({ text, interruptible })),
  next,
  language: "en-US",
  voice: null,
  ...over,
});
const LISTEN: XmlTurnReply["next"] = { kind: "listen", seconds: 8, keys_only: false };
const INPUT = {
  action: TURN,
  method: "POST",
  inputType: "dtmf speech",
  executionTimeout: "8",
  speechEndTimeout: "auto",
  digitEndTimeout: "3",
  numDigits: "32",
  finishOnKey: "#",
  language: "en-US",
  redirect: "true",
};
const KEYS = {
  action: TURN,
  method: "POST",
  inputType: "dtmf",
  executionTimeout: "8",
  digitEndTimeout: "3",
  numDigits: "32",
  finishOnKey: "#",
  redirect: "true",
};

/** A document as a tree without the order of its attributes. */
const treeOf = (text: string): XmlElement => parseXml(text);
const built = (build: (response: SdkElement) => void): XmlElement => {
  const response = plivo.Response();
  build(response);
  return treeOf(response.toXML());
};
const redirect = (r: SdkElement): SdkElement => r.addRedirect(TURN, { method: "POST" });

describe("documents equal what the plivo package builds", () => {
  test.each<[string, XmlTurnReply, (r: SdkElement) => void]>([
    [
      "listening while it speaks",
      reply([['Hello & <welcome> "you"', true]], LISTEN),
      (r) => {
        r.addGetInput(INPUT).addSpeak('Hello & <welcome> "you"', VOICE);
        redirect(r);
      },
    ],
    [
      "silent listening",
      reply([], LISTEN),
      (r) => {
        r.addGetInput(INPUT);
        redirect(r);
      },
    ],
    [
      "keys alone",
      reply([["Your PIN?", true]], { kind: "listen", seconds: 8, keys_only: true }),
      (r) => {
        r.addGetInput(KEYS).addSpeak("Your PIN?", VOICE);
        redirect(r);
      },
    ],
    [
      "what may not be interrupted comes first",
      reply(
        [
          ["One.", true],
          ["Legal notice.", false],
          ["Two?", true],
          ["Three?", true],
        ],
        LISTEN,
      ),
      (r) => {
        r.addSpeak("One.", VOICE);
        r.addSpeak("Legal notice.", VOICE);
        const input = r.addGetInput(INPUT);
        input.addSpeak("Two?", VOICE);
        input.addSpeak("Three?", VOICE);
        redirect(r);
      },
    ],
    [
      "still thinking",
      reply([["Let me see.", true]], { kind: "again" }),
      (r) => {
        r.addSpeak("Let me see.", VOICE);
        r.addWait({ length: "1" });
        redirect(r);
      },
    ],
    [
      "a message after the greeting",
      reply([], { kind: "message", message: "Please call us.", patience_seconds: 30 }),
      (r) => {
        r.addWait({ length: "30", silence: "true", minSilence: "2000" });
        r.addSpeak("Please call us.", VOICE);
        r.addHangup({});
      },
    ],
    [
      "goodbye",
      reply([["Goodbye.", false]], { kind: "hang_up" }),
      (r) => {
        r.addSpeak("Goodbye.", VOICE);
        r.addHangup({});
      },
    ],
    ["nothing", reply([["never said", true]], { kind: "nothing" }), () => undefined],
    [
      "a language of its own voice",
      reply([["Guten Tag", false]], { kind: "hang_up" }, { language: "de-AT", voice: "Polly.Marlene" }),
      (r) => {
        r.addSpeak("Guten Tag", { voice: "Polly.Marlene", language: "de-DE" });
        r.addHangup({});
      },
    ],
  ])("%s", (_what, given, build) => {
    expect(treeOf(turnDocument(given, PLACE))).toEqual(built(build));
  });
  test("the sound of a call goes to our WebSocket, and the call ends with it", () => {
    const url = "wss://calls.example.com/media/PROVIDER_TWO/0123456789abcdef0123456789abcdef";
    const to = (r: SdkElement): void => {
      r.addStream(url, {
        bidirectional: "true",
        keepCallAlive: "true",
        contentType: "audio/x-mulaw;rate=8000",
        statusCallbackUrl: `${PLACE.callback_base}/stream/${PLACE.call_ref}`,
        statusCallbackMethod: "POST",
      });
      r.addHangup({});
    };
    expect(treeOf(streamDocument(url, PLACE))).toEqual(built(to));
    expect(treeOf(inboundStreamDocument(url, 660, PLACE))).toEqual(
      built((r) => {
        r.addHangup({ schedule: "660" });
        to(r);
      }),
    );
  });
  test("dialling on, turning away, taking a call", () => {
    expect(treeOf(dialDocument("14155550701", "14155550999"))).toEqual(
      built((r) => r.addDial({ callerId: "14155550999" }).addNumber("14155550701")),
    );
    expect(treeOf(dialDocument("14155550701", null))).toEqual(built((r) => r.addDial({}).addNumber("14155550701")));
    expect(treeOf(rejectDocument(null, "en-US"))).toEqual(built((r) => r.addHangup({ reason: "rejected" })));
    expect(treeOf(rejectDocument(" ", "en-US"))).toEqual(built((r) => r.addHangup({ reason: "rejected" })));
    expect(treeOf(rejectDocument("We are closed.", "en-GB"))).toEqual(
      built((r) => {
        r.addSpeak("We are closed.", { voice: "WOMAN", language: "en-GB" });
        r.addHangup({});
      }),
    );
    expect(treeOf(connectDocument(reply([["Hello", true]], LISTEN), 660, "t", PLACE))).toEqual(
      built((r) => {
        r.addHangup({ schedule: "660" });
        r.addGetInput(INPUT).addSpeak("Hello", VOICE);
        redirect(r);
      }),
    );
    const answer = `${PLACE.callback_base}/answer/${PLACE.call_ref}?media=t0`;
    expect(treeOf(connectDocument(null, 660, "t0", PLACE))).toEqual(
      built((r) => {
        r.addHangup({ schedule: "660" });
        r.addRedirect(answer, { method: "POST" });
      }),
    );
    expect(treeOf(emptyDocument())).toEqual(built(() => undefined));
  });
});

describe("bounds", () => {
  test.each([
    [0, "5"],
    [4, "5"],
    [5, "5"],
    [60, "60"],
    [600, "60"],
  ])("listening %s s is %s", (seconds, expected) => {
    expect(turnDocument(reply([], { kind: "listen", seconds, keys_only: false }), PLACE)).toContain(
      `executionTimeout="${expected}"`,
    );
  });
  test("whatever is said, the document can be followed and stays below 100 KB", () => {
    const says = fc.array(fc.tuple(fc.string({ unit: "binary", maxLength: 9000 }), fc.boolean()), { maxLength: 5 });
    const nexts = fc.constantFrom<XmlTurnReply["next"]>(
      LISTEN,
      { kind: "again" },
      { kind: "hang_up" },
      { kind: "message", message: "&".repeat(20_000), patience_seconds: 0 },
    );
    fc.assert(
      fc.property(says, nexts, (say, next) => {
        const text = turnDocument(reply(say, next), PLACE);
        expect(Buffer.byteLength(text)).toBeLessThanOrEqual(100 * 1024);
        expect(parseXml(text).name).toBe("Response");
      }),
      { numRuns: 60 },
    );
    const long = "word ".repeat(3000);
    const { verbs, warnings } = parseDocument(turnDocument(reply([[long, false]], { kind: "hang_up" }), PLACE));
    expect(verbs.filter((v) => v.verb === "Speak").length).toBeGreaterThan(2);
    expect(warnings).toEqual([]);
  });
});

test.each<[string, string | null, { voice: string; language: string }]>([
  ["en-US", null, VOICE],
  ["en-us", "MAN", { voice: "MAN", language: "en-US" }],
  ["en", null, VOICE],
  ["en-ZA", null, VOICE],
  ["hi-IN", null, { voice: "Polly.Aditi", language: "hi-IN" }],
  ["hi-IN", "WOMAN", { voice: "Polly.Aditi", language: "hi-IN" }],
  ["de-AT", null, { voice: "WOMAN", language: "de-DE" }],
  ["pt-PT", null, { voice: "MAN", language: "pt-PT" }],
  ["pt", null, { voice: "WOMAN", language: "pt-BR" }],
  ["ar-EG", null, { voice: "Polly.Zeina", language: "arb" }],
  ["xx-YY", "en-US-Journey-O", VOICE],
  ["fr-FR", "21m00Tcm4TlvDq8ikWAM", { voice: "WOMAN", language: "fr-FR" }],
  ["", null, VOICE],
  ["es-MX", "Polly.Mia", { voice: "Polly.Mia", language: "es-MX" }],
])("%s with voice %s is spoken as %j", (language, voice, expected) => {
  expect(speechVoice(language, voice)).toEqual(expected);
});
test("speech is recognised in the language asked for, or in English", () => {
  expect(["de-AT", "hi-IN", "zh-Hant-TW", "", '"><Hangup/>'].map(recognitionLanguage)).toEqual([
    "de-AT",
    "hi-IN",
    "zh-Hant-TW",
    "en-US",
    "en-US",
  ]);
});
