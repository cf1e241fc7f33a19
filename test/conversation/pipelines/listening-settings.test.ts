import { callerWords, wordCount } from "../../../services/conversation/pipelines/listening/caller-words.ts";
import { turnWaitMs } from "../../../services/conversation/audio/endpointing.ts";
import { testFlow } from "../../fixtures/flow-template.ts";
import { audioCall, type AudioCall, type AudioCallOptions } from "../fixtures/audio-call.ts";
import { voice } from "../fixtures/sound.ts";

const LONG = "Your order is on its way and will be with you between nine and noon tomorrow morning, if that suits you.";

/** A call in which the agent says a long sentence, from its third word on. */
async function talking(listening: AudioCallOptions["listening"] = {}): Promise<AudioCall> {
  const c = audioCall({
    flow: testFlow({ greeting: "Good day. Do you hear me?" }),
    reply: (n) => ({ text: n === 1 ? LONG : "Very well." }),
    listening: { ...listening },
  });
  await c.until(() => c.heard().includes("hear me?"));
  await c.pass(500);
  await c.say("Where is it?");
  await c.until(() => c.heard().includes("on its way"));
  return c;
}
const turns = (c: AudioCall): string[] => c.told.flatMap((event) => (event.type === "heard" ? [event.text] : []));

describe("how a template listens", () => {
  test("two words do not cut where three are asked for: they are answered once the sentence has ended", async () => {
    const c = await talking({ interrupt_after_words: 3 });
    await c.say("Not noon.");
    await c.until(() => c.heard().includes("Very well."));
    expect(c.heard()).toContain("if that suits you.");
    expect(c.told.some((event) => event.type === "interrupted")).toBe(false);
    expect(turns(c).at(-1)).toBe("Not noon.");
  });

  test("three words cut then", async () => {
    const c = await talking({ interrupt_after_words: 3 });
    await c.say("Not at noon, please.");
    await c.until(() => c.heard().includes("Very well."));
    expect(c.heard()).not.toContain("suits you.");
  });

  test("the template's own backchannel is no turn and cuts nothing", async () => {
    const c = await talking({ backchannels: ["Go ahead", "tell me"] });
    await c.say("Go ahead.");
    await c.until(() => c.heard().includes("suits you."));
    await c.pass(1500);
    expect(turns(c)).toEqual(["Where is it?"]);
  });

  test.each(["Thanks for watching!", "Acme hold music."])("the phantom %s is no turn", async (text) => {
    const c = await talking({ phantom_phrases: ["acme hold music"] });
    await c.say(text);
    await c.until(() => c.heard().includes("suits you."));
    await c.pass(300);
    await c.say(text);
    await c.pass(1500);
    expect(turns(c)).toEqual(["Where is it?"]);
  });

  test.each(["Thank you.", "Thank you. Thank you.", "You", "Danke.", "Muchas gracias!"])(
    "over our speech %s is courtesy or none, and no turn; after it, it is one",
    async (text) => {
      const c = await talking({});
      await c.say(text);
      await c.until(() => c.heard().includes("suits you."));
      expect(c.told.some((event) => event.type === "interrupted")).toBe(false);
      await c.pass(1500);
      await c.say(text);
      await c.pass(1500);
      expect(turns(c)).toEqual(["Where is it?", text]);
    },
  );

  test("shorter sound ducks the agent: nothing is cleared, and every word is heard", async () => {
    const c = await talking({ interrupt_after_ms: 900 });
    await c.sound(voice({ ms: 500 }));
    await c.until(() => c.heard().includes("suits you."));
    expect([c.far.clears(), c.told.some((event) => event.type === "interrupted")]).toEqual([0, false]);
  });

  test("sound pauses the agent only after the time that the template gives", async () => {
    const c = await talking({ interrupt_after_ms: 1200 });
    const from = c.clock.monotonicMs();
    const saying = c.say("Not before noon, please, for I am not there.");
    await c.until(() => c.far.clears() > 0);
    expect(c.clock.monotonicMs() - from).toBeGreaterThanOrEqual(1200);
    await saying;
    await c.until(() => c.heard().includes("Very well."));
  });

  test("a turn ends after the template's own silence", async () => {
    const waited = async (endpointing_ms: number): Promise<number> => {
      const c = audioCall({
        flow: testFlow({ greeting: "Good day. Do you hear me?" }),
        reply: () => ({ text: "Very well." }),
        listening: { endpointing_ms },
      });
      await c.until(() => c.heard().includes("hear me?"));
      await c.pass(500);
      await c.say("Yes, please.");
      const ended = c.clock.monotonicMs();
      await c.until(() => turns(c).length > 0);
      return c.clock.monotonicMs() - ended;
    };
    const [usual, slow] = [await waited(300), await waited(900)];
    expect(slow - usual).toBeGreaterThanOrEqual(590);
    expect(slow - usual).toBeLessThanOrEqual(610);
  });
});

describe("waits by the template", () => {
  const waits = (text: string, bounds: { endpointing_ms: number; max_wait_ms: number }): number =>
    turnWaitMs({ text, language: "en-US", expects_short: false, ...bounds });
  test.each([
    ["Yes.", 200, 2500, 200],
    ["My number is", 200, 4000, 4000],
    ["My number is", 300, 600, 600],
    ["I would like it on", 300, 800, 800],
    ["I would like it on", 1800, 500, 1800],
    ["No idea", 300, 2500, 500],
  ])("%s with %s to %s ms: %s", (text, endpointing_ms, max_wait_ms, ms) =>
    expect(waits(text, { endpointing_ms, max_wait_ms })).toBe(ms),
  );
});

describe("words of the caller", () => {
  const words = callerWords("de-DE", { backchannels: ["Na dann!"], phantom_phrases: ["Musik läuft"] });
  test.each([
    ["Thank you for watching.", true],
    ["Thanks for watching! Thanks for watching! Thanks for watching!", true],
    ["Untertitel der Amara.org-Community", true],
    ["Untertitelung im Auftrag des ZDF für funk, 2017", true],
    ["Sous-titres réalisés par la communauté d'Amara.org", true],
    ["[Music]", true],
    ["(coughs) ♪", true],
    ["【音楽】（笑）［拍手］", true],
    ["Musik läuft", true],
    ["시청해주셔서 감사합니다!", true],
    ["시청해 주셔서 감사합니다. 시청해 주셔서 감사합니다.", true],
    ["MBC 뉴스 이덕영입니다.", true],
    ["ＭＢＣ 뉴스", true],
    ["한글자막 by 박진희", true],
    ["Abone olmayı unutmayın.", true],
    ["İZLEDİĞİNİZ İÇİN TEŞEKKÜR EDERİM.", true],
    ["Altyazı M.K.", true],
    ["次の動画でお会いしましょう。", true],
    ["ご視聴ありがとうございました", true],
    ["谢谢观看！", true],
    ["謝謝觀看 下次見", true],
    ["请不吝点赞 订阅 转发 打赏支持明镜与点点栏目", true],
    ["字幕志愿者 杨茜茜", true],
    ["小編字幕由Amara.org社區提供", true],
    ["شكراً للمشاهدة", true],
    ["ترجمة نانسي قنقر", true],
    ["Cảm ơn các bạn đã theo dõi và hẹn gặp lại.", true],
    ["Спасибо за просмотр!", true],
    ["Субтитры создавал DimaTorzok", true],
    ["Редактор субтитров А.Синецкая Корректор А.Егорова", true],
    ["Дякую за перегляд!", true],
    ["Terima kasih telah menonton!", true],
    ["Tekstning af Nicolai Winther", true],
    ["Tak for at se med.", true],
    ["Undertexter från Amara.org-gemenskapen", true],
    ["Gracias por ver el video. ¡Suscríbete al canal!", true],
    ["Obrigado por assistir!", true],
    ["Grazie per la visione.", true],
    ["Dziękuję za oglądanie.", true],
    ["Bedankt voor het kijken!", true],
    ["वीडियो देखने के लिए धन्यवाद।", true],
    ["Titulky vytvořil JohnyX.", true],
    ["ขอบคุณที่รับชมครับ", true],
    ["ευχαριστώ που παρακολουθήσατε", true],
    ["תודה על הצפייה", true],
    ["Tak.", false],
    ["감사합니다", false],
    ["谢谢", false],
    ["구독을 취소하고 싶어요", false],
    ["Abone olmak istemiyorum.", false],
    ["Спасибо за внимание", false],
    ["Subtitles are what I ordered.", false],
    ["Ich sehe keine Untertitel von gestern.", false],
    ["Thanks for watching. Friday is better.", false],
    ["Thank you.", false],
    ["Thanks for watching over it, but Friday is better.", false],
    ["Friday [inaudible]", false],
    ["", false],
  ])("%s: phantom %s", (text, phantom) => expect(words.isPhantom(text)).toBe(phantom));

  test("a courtesy is no phantom, but doubtful, alone or repeated", () => {
    const judged = (text: string): boolean[] => [words.isPhantom(text), words.isDoubtful(text)];
    expect(["Thank you.", "감사합니다.", "Vielen Dank! Vielen Dank!", "Thank you, Friday."].map(judged)).toEqual([
      [false, true],
      [false, true],
      [false, true],
      [false, false],
    ]);
  });

  test("more words are awaited where those so far begin a phantom of the call's language, not of every other", () => {
    expect(
      ["Vielen Dank fürs", "Thanks for", "Na", "Tak", "Abone", "Freitag"].map((text) => words.isUndecided(text)),
    ).toEqual([true, true, true, false, false, false]);
  });

  test.each([
    ["Na dann.", true],
    ["Ja, na dann.", true],
    ["Na dann bis Freitag.", false],
  ])("%s: backchannel %s", (text, nod) => expect(words.isBackchannel(text)).toBe(nod));

  test.each([
    ["", 0],
    ["Stop!", 1],
    ["Don't do it, please.", 4],
    ["金曜日がいいです", 3],
  ])("%s has %s words", (text, count) => expect(wordCount(text)).toBe(count));
});
