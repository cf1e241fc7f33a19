import * as fc from "fast-check";
import { sentenceChunker } from "../../../services/conversation/audio/sentence-chunker.ts";

const MAX_CHARS = 300;

/** The parts of a text that comes in pieces. */
function parts(pieces: readonly string[]): string[] {
  const chunker = sentenceChunker();
  return [...pieces.flatMap((piece) => chunker.push(piece)), ...chunker.end()];
}
const whole = (text: string): string[] => parts([text]);
const bare = (text: string): string => text.replace(/\s+/g, "");

describe("parts of a text", () => {
  test.each<[string, string[]]>([
    ["Hello there, Ada. How are you today? I am fine!", ["Hello there, Ada.", "How are you today?", "I am fine!"]],
    ["Hi! How are you today? Fine. Thanks.", ["Hi! How are you today?", "Fine.", "Thanks."]],
    [
      "I have looked that up for you, and the order is on its way; it comes on Monday. Anything else, or was that all?",
      [
        "I have looked that up for you,",
        "and the order is on its way; it comes on Monday.",
        "Anything else, or was that all?",
      ],
    ],
    [
      "Well, let me see, there are three: one, two and three.",
      ["Well, let me see, there are three:", "one, two and three."],
    ],
    [
      "Please ask Dr. Smith, Mr. J. Jones or Mrs. Brown. They know it.",
      ["Please ask Dr. Smith, Mr. J. Jones or Mrs. Brown.", "They know it."],
    ],
    [
      "We sell fruit, e.g. apples, i.e. what grows. Nice.",
      ["We sell fruit, e.g. apples,", "i.e. what grows.", "Nice."],
    ],
    [
      "Wir haben z.B. Äpfel oder d.h. Obst. Und z. B. Birnen, bzw. Nüsse. Gut.",
      ["Wir haben z.B. Äpfel oder d.h. Obst.", "Und z. B. Birnen, bzw. Nüsse.", "Gut."],
    ],
    [
      "Der Termin ist am 3. Oktober um 10.30 Uhr. Passt das?",
      ["Der Termin ist am 3. Oktober um 10.30 Uhr.", "Passt das?"],
    ],
    ["The value is 3.14 and costs $2.50. Is that fine?", ["The value is 3.14 and costs $2.50.", "Is that fine?"]],
    [
      "Come at 10:30 or at 5 p.m. on Monday. At 6 p.m. We close.",
      ["Come at 10:30 or at 5 p.m. on Monday.", "At 6 p.m.", "We close."],
    ],
    ["My number is 030. 123. 456. Please call me.", ["My number is 030. 123. 456.", "Please call me."]],
    [
      "The order has number 12, 13, 14, 15, 16 and so on. Good.",
      ["The order has number 12, 13, 14, 15, 16 and so on.", "Good."],
    ],
    ["Let me think... that is hard... But fine.", ["Let me think... that is hard...", "But fine."]],
    ["She said “Hello there.” Then she left.", ["She said “Hello there.”", "Then she left."]],
    ["Really, are you sure?! Yes (I am.) Good.", ["Really, are you sure?!", "Yes (I am.)", "Good."]],
    ["Visit www.example.com/a.b?c today. Thanks.", ["Visit www.example.com/a.b?c today.", "Thanks."]],
    [
      "Here is the list\n1. First thing\n2. Second thing\n- Third",
      ["Here is the list", "1. First thing", "2. Second thing", "- Third"],
    ],
    ["नमस्ते, मैं आपकी मदद कर सकती हूँ। क्या समय है? ठीक है॥ हाँ", ["नमस्ते, मैं आपकी मदद कर सकती हूँ।", "क्या समय है?", "ठीक है॥", "हाँ"]],
    [
      "こんにちは、お電話ありがとうございます。ご用件は？「はい。」次",
      ["こんにちは、お電話ありがとうございます。", "ご用件は？", "「はい。」", "次"],
    ],
    ["مرحبا كيف حالك؟ أنا بخير. شكرا", ["مرحبا كيف حالك؟", "أنا بخير.", "شكرا"]],
    ["So do I. You too? Fine, plan B. Next.", ["So do I. You too?", "Fine, plan B. Next."]],
    ["", []],
    ["  \n ", []],
    ["Hi", ["Hi"]],
  ])("%j", (text, expected) => {
    expect(whole(text)).toEqual(expected);
    expect(parts([...text])).toEqual(expected);
  });

  test("the first clause is given as soon as the blank behind it is there", () => {
    const chunker = sentenceChunker();
    expect(chunker.push("Good morning, Ada.")).toEqual([]);
    expect(chunker.push(" How")).toEqual(["Good morning, Ada."]);
    expect(chunker.push(" are you? I")).toEqual(["How are you?"]);
    expect(chunker.end()).toEqual(["I"]);
  });

  test("begins anew after its end", () => {
    const chunker = sentenceChunker();
    chunker.push("One sentence is here. Yes. ");
    chunker.end();
    expect(chunker.push("Yes. No, not at all. ")).toEqual(["Yes. No, not at all."]);
  });

  test("a text without an end is cut at a blank, a word without one anywhere but within a character", () => {
    expect(whole("word ".repeat(200)).map((p) => p.length)).toEqual([299, 299, 299, 99]);
    const smiles = whole("😀".repeat(400));
    expect(smiles.every((p) => p.isWellFormed() && p.length <= MAX_CHARS)).toBe(true);
    expect(smiles.join("")).toBe("😀".repeat(400));
  });
});

describe("whatever the text and its pieces", () => {
  const scrap = fc.constantFrom(
    "Dr.",
    " ",
    "  ",
    "\n",
    "word",
    "3",
    ".",
    "...",
    "…",
    "!",
    "?",
    ",",
    ";",
    ":",
    "।",
    "。",
    "，",
    '"',
    ")",
    "p.m.",
    "z.B.",
    "é",
    "😀",
    "A",
    "x".repeat(70),
    " and so on",
  );
  const pieces = fc.array(fc.oneof(scrap, fc.string({ maxLength: 12 }), fc.string({ unit: "binary", maxLength: 6 })), {
    maxLength: 80,
  });

  test("nothing is lost, nothing added, nothing empty or too long", () => {
    fc.assert(
      fc.property(pieces, (text) => {
        const made = parts(text);
        expect(bare(made.join(""))).toBe(bare(text.join("")));
        expect(made.every((p) => p.length > 0 && p.length <= MAX_CHARS && p === p.trim())).toBe(true);
      }),
      { numRuns: 400 },
    );
  });

  test("the pieces don't matter", () => {
    fc.assert(
      fc.property(pieces, (text) => expect(parts(text)).toEqual(whole(text.join("")))),
      { numRuns: 400 },
    );
  });

  test("a long text is done with", () => {
    for (const text of [".", "1. ", "a", "Dr. ", '"', " ", "\n", "… "])
      expect(bare(whole(text.repeat(20_000)).join(""))).toBe(bare(text.repeat(20_000)));
  });
});
