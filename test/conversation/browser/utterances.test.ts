import { beforeEach, expect, test } from "@jest/globals";
import { MAX_WAITING, Utterances, type UtteranceEvent } from "../../../services/conversation/browser/utterances.ts";
import { codeOf } from "../../../shared/errors.ts";
import { virtualClock } from "../../fixtures/virtual-clock.ts";

let clock = virtualClock();
let sound: "silent" | "waiting" | "audible" = "silent";
let said: string[] = [];
let told: [string, UtteranceEvent["status"], string?][] = [];
let utterances: Utterances;
beforeEach(() => {
  clock = virtualClock();
  sound = "waiting";
  said = [];
  told = [];
  utterances = new Utterances({
    clock,
    say: (text, voice) => void said.push(voice === null ? text : `${text} by ${voice}`),
    interrupt: () => utterances.interrupted("One"),
    sound: () => sound,
    tell: ({ utterance_id, status, heard }) => void told.push([utterance_id, status, ...(heard === undefined ? [] : [heard])] as [string, UtteranceEvent["status"], string?]), // prettier-ignore
  });
});
const speak = (utterance_id: string, interrupt = false, voice: string | null = null) =>
  utterances.speak({ text: `Text ${utterance_id}`, utterance_id, interrupt, voice });
const turn = async (next: typeof sound): Promise<void> => {
  sound = next;
  await clock.advance(20);
};

test("texts are spoken in their order, each when the one before was heard to its end", async () => {
  expect(speak("1")).toMatchObject({ status: "queued", utterance_id: "1", at: clock.now().toISOString() });
  speak("2", false, "Ada");
  await turn("audible");
  expect(said).toEqual(["Text 1"]);
  await turn("silent");
  expect(said).toEqual(["Text 1", "Text 2 by Ada"]);
  expect(told.map(([id, status]) => `${id} ${status}`)).toEqual(["1 queued", "2 queued", "1 started", "1 finished"]);
});

test("a person who speaks, or a text that interrupts, ends what is spoken with what was heard, and what waits", async () => {
  speak("1");
  speak("2");
  await turn("audible");
  speak("3", true);
  expect(told.slice(3)).toEqual([
    ["1", "interrupted", "One"],
    ["2", "interrupted", ""],
    ["3", "queued"],
  ]);
  expect(said).toEqual(["Text 1", "Text 3"]);
});

test("too many texts and one of an id that waits are refused; at the end nothing is left open", () => {
  const refused = (id: string) => {
    try {
      return speak(id).status;
    } catch (error) {
      return codeOf(error);
    }
  };
  for (let i = 0; i <= MAX_WAITING; i++) expect(refused(`u${i}`)).toBe("queued");
  expect([refused("more"), refused("u0")]).toEqual(["RATE_LIMITED", "VALIDATION_FAILED"]);
  utterances.end();
  expect(told.filter(([, status]) => status === "interrupted")).toHaveLength(MAX_WAITING + 1);
});
