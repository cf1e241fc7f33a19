import { encodeSpeech } from "../../../local/speech/modem.ts";
import { coughPcm } from "../../../local/speech/noises.ts";
import { LAST_WORDS_MS } from "../../../services/conversation/pipelines/cascaded/last-words.ts";
import { finalAnswer } from "../../../services/conversation/dialogue/flow.ts";
import { newDialogue } from "../../../services/conversation/dialogue/dialogue-state.ts";
import type { ChatRequest } from "../../../services/conversation/providers/port.ts";
import { call, testFlow } from "../../fixtures/flow-template.ts";
import { audioCall, type AudioCall, type AudioCallOptions } from "../fixtures/audio-call.ts";
import { inTurn, noise, silence } from "../fixtures/sound.ts";

/** Confirmations that are taken back, in three languages: what decides is the second part. */
const UTTERANCES: readonly (readonly [string, string, string])[] = [
  ["en-US", "Yes.", "Friday would be better."],
  ["en-US", "Yes.", "But not on Monday."],
  ["en-US", "Okay.", "No wait, another day."],
  ["en-US", "Sure.", "Only in the evening though."],
  ["en-US", "Yes, I confirm.", "Oh, make it Friday."],
  ["en-US", "Right.", "Cancel it please."],
  ["en-US", "That's right.", "Except for the day."],
  ["de-DE", "Ja.", "Freitag wäre besser."],
  ["de-DE", "Ja, genau.", "Aber nicht am Montag."],
  ["de-DE", "Okay.", "Nein, doch lieber später."],
  ["de-DE", "Passt.", "Nur am Abend bitte."],
  ["de-DE", "Richtig.", "Stornieren Sie es bitte."],
  ["de-DE", "Ja, bitte.", "Ach, lieber am Freitag."],
  ["de-DE", "Stimmt.", "Bis auf den Tag."],
  ["es-ES", "Sí.", "Mejor el viernes."],
  ["es-ES", "Claro.", "Pero el lunes no."],
  ["es-ES", "Vale.", "No, espere, otro día."],
  ["es-ES", "Correcto.", "Solo por la tarde."],
  ["es-ES", "Sí, por favor.", "Bueno, que sea el viernes."],
  ["es-ES", "Exacto.", "Cancele el pedido."],
];

/** Confirms at one word of agreement, reschedules at anything after it. */
const answerTo = (request: ChatRequest): string => {
  const said = request.messages.filter(({ role }) => role === "user").map(({ content }) => content ?? "");
  return said
    .join(" ")
    .split(/[.!?]/u)
    .filter((part) => part.trim() !== "").length > 1
    ? "postpone"
    : "confirm";
};

const FLOW = (language: string, goodbye: object): ReturnType<typeof testFlow> =>
  testFlow({
    language,
    greeting: "Good day.",
    initial_node: "ask",
    global_functions: [],
    nodes: [
      {
        name: "ask",
        prompt: "Ask whether they confirm.",
        functions: [
          { name: "confirm", description: "They agree.", outcome: "confirmed", next_node: "bye" },
          { name: "postpone", description: "Another day.", outcome: "rescheduled", next_node: "bye" },
        ],
      },
      { name: "bye", on_enter: [{ type: "end_call" }], ...goodbye },
    ],
  });

/** A call in which a question waits for its answer. */
async function asked(
  more: Partial<AudioCallOptions> & { goodbye?: object; language?: string } = {},
): Promise<AudioCall> {
  const { goodbye = { prompt: "Say goodbye." }, language = "en-US", ...options } = more;
  const c: AudioCall = audioCall({
    flow: FLOW(language, goodbye),
    reply(turns) {
      const request = c.asked.at(-1);
      if (turns === 0 || !request) return { text: "Do you confirm the order for Monday?" };
      return request.tools.some(({ function: { name } }) => name === "confirm")
        ? { calls: [call(answerTo(request))] }
        : { text: "Thank you very much, and goodbye." };
    },
    delays: { stt: 130, first_token: 150, first_audio: 70 },
    ...options,
  });
  await c.until(() => c.heard().includes("for Monday?"));
  await c.pass(800);
  return c;
}

describe("last words before what can't be undone", () => {
  test.each(UTTERANCES)(
    "%s: %s … %s is decided by the second part, at every pause",
    async (language, first, second) => {
      for (const pause of [260, 340, 450, 580, 880]) {
        const c = await asked({ language });
        await c.sound(inTurn(encodeSpeech(first, 8000), silence(pause), encodeSpeech(second, 8000)));
        await c.until(() => c.far.isClosed());
        expect([pause, c.state().decided]).toEqual([pause, "rescheduled"]);
      }
    },
  );

  test("also where the closing node has a fixed text", async () => {
    for (const pause of [260, 450, 880]) {
      const c = await asked({ goodbye: { say: "Thank you, goodbye." } });
      await c.sound(inTurn(encodeSpeech("Yes.", 8000), silence(pause), encodeSpeech("Friday is better.", 8000)));
      await c.until(() => c.far.isClosed());
      expect([pause, c.state().decided]).toEqual([pause, "rescheduled"]);
    }
  });

  test("its soft sounds count: a voice is heard later than it sets in", async () => {
    for (const pause of [340, 880]) {
      const c = await asked({ goodbye: { say: "Thank you, goodbye." } });
      const soft = noise({ ms: 160, db: -49 });
      const [yes, friday] = [encodeSpeech("Yes.", 8000), encodeSpeech("Friday is better.", 8000)];
      await c.sound(inTurn(yes, soft, silence(pause), soft, friday));
      await c.until(() => c.far.isClosed());
      expect([pause, c.state().decided]).toEqual([pause, "rescheduled"]);
    }
  });

  test("a plain yes costs the wait and no more, and no filler comes in between", async () => {
    const c = await asked({ fillers: ["One moment, please."] });
    await c.say("Yes.");
    const ended = c.clock.monotonicMs();
    await c.until(() => c.firstSoundAfter(ended) !== null);
    expect((c.firstSoundAfter(ended) ?? Infinity) - ended).toBeLessThanOrEqual(
      LAST_WORDS_MS.after_words + 150 + 70 + 100,
    );
    await c.until(() => c.far.isClosed());
    expect([c.state().decided, c.heard().includes("moment")]).toEqual(["confirmed", false]);
  });

  test("a cough after the yes holds it up, and changes nothing", async () => {
    const c = await asked();
    await c.sound(inTurn(encodeSpeech("Yes.", 8000), silence(500), coughPcm(350, 8000, 3)));
    await c.until(() => c.far.isClosed());
    expect([c.state().decided, c.told.filter(({ type }) => type === "heard")]).toEqual([
      "confirmed",
      [expect.objectContaining({ text: "Yes." })],
    ]);
  });

  test("who talks into the goodbye before it has begun is back where they were asked", async () => {
    const c = await asked({ delays: { stt: 130, first_token: 1200, first_audio: 70 } });
    await c.say("Yes.");
    await c.until(() => c.state().closing !== "no");
    await c.say("Friday is better.");
    await c.until(() => c.far.isClosed());
    expect(c.state()).toMatchObject({ decided: "rescheduled", traversal: ["ask", "bye", "ask", "bye"] });
  });
});

describe("what can't be undone", () => {
  const flow = testFlow({
    nodes: [
      {
        name: "ask",
        prompt: "Ask.",
        functions: [
          { name: "note", description: "Notes it.", set: { a: "b" } },
          { name: "on", description: "Goes on.", next_node: "more" },
          { name: "decide", description: "Decides.", outcome: "confirmed" },
          { name: "bye", description: "Ends.", next_node: "end" },
          { name: "stop", description: "Ends.", action: "end_call" },
          { name: "pass", description: "Transfers.", action: "transfer", transfer_to: "+14155550100" },
          { name: "read", description: "Reads.", action: "http", http: { method: "GET", url: "https://a.example" } },
          { name: "write", description: "Writes.", action: "http", http: { method: "POST", url: "https://a.example" } },
        ],
      },
      { name: "more", prompt: "More." },
      { name: "end", say: "Bye.", on_enter: [{ type: "end_call" }] },
    ],
    initial_node: "ask",
    global_functions: [],
  });
  const asking = { ...newDialogue({}), node: "ask", mode: "thinking" as const };
  test.each([
    ["note", null],
    ["on", null],
    ["read", null],
    ["unknown", null],
    ["decide", "after_words"],
    ["stop", "after_words"],
    ["bye", "at_once"],
    ["pass", "at_once"],
    ["write", "at_once"],
    ["do_not_call", "at_once"],
  ])("%s: %s", (name, finality) =>
    expect(finalAnswer(flow, asking, { type: "model_answered", turn: 1, text: "", calls: [call(name)] })).toBe(
      finality,
    ),
  );
  test("words alone only where they close the conversation", () => {
    const event = { type: "model_answered", turn: 1, text: "Well.", calls: [] } as const;
    expect([finalAnswer(flow, asking, event), finalAnswer(flow, { ...asking, closing: "node" }, event)]).toEqual([
      null,
      "after_words",
    ]);
  });
});
