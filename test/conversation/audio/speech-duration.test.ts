import { lastHeard, speechMs } from "../../../services/conversation/audio/speech-duration.ts";

test.each([
  [
    "both heard in part",
    [
      ["Good day.", true],
      ["Do you confirm?", true],
    ],
    1000,
    "Do you",
  ],
  [
    "the second not at all",
    [
      ["Good day.", true],
      ["Do you confirm?", true],
    ],
    620,
    "Good day.",
  ],
  ["nothing", [["Good day.", true]], 0, ""],
  [
    "a text that can't be talked over, and what came before it",
    [
      ["Well.", true],
      ["This is recorded.", false],
      ["Do you confirm?", true],
    ],
    2000,
    "Do you",
  ],
  ["all", [["Good day.", true]], 9000, "Good day."],
] as const)("of several texts the last that was heard: %s", (_what, said, ms, heard) =>
  expect(
    lastHeard(
      said.map(([words, interruptible]) => ({ text: words, interruptible })),
      ms,
    ),
  ).toBe(heard),
);
test("speech of 15 characters takes a second", () => expect(speechMs("x".repeat(15))).toBe(1000));
