import * as fc from "fast-check";
import {
  isBackchannel,
  MAX_WAIT_MS,
  MIN_WAIT_MS,
  turnWaitMs,
} from "../../../services/conversation/audio/endpointing.ts";

const wait = (text: string, language = "en-US", expects_short = false): number =>
  turnWaitMs({ text, language, expects_short });

describe("a finished turn waits shortly", () => {
  test.each([
    ["en", "Yes."],
    ["en", "yes"],
    ["en", "No, thanks."],
    ["en", "mm-hmm"],
    ["en", "Uh-huh"],
    ["en", "I would like to book a table for two."],
    ["en", "Can you call me back?"],
    ["en", "where to?"],
    ["en", "Stop!"],
    ["en", "twenty five"],
    ["en", "42"],
    ["en", "It costs 25.50."],
    ["en", "At 10:30."],
    ["en", "In 2026."],
    ["en", "The code is 4711."],
    ["en", "0 1 7 6 1 2 3 4 5 6 7."],
    ["de-DE", "Ja genau"],
    ["de", "Guten Tag"],
    ["de", "Ich nehme den Termin."],
    ["de", "nein danke"],
    ["fr-FR", "oui d'accord"],
    ["fr", "Oui, c'est ça."],
    ["fr", "Je suis là."],
    ["es", "Sí, claro."],
    ["es-MX", "sí por favor"],
    ["it", "va bene"],
    ["it", "Sì, grazie."],
    ["pt-BR", "tá bom, obrigado."],
    ["pt", "sim"],
    ["nl-NL", "ja graag"],
    ["hi-IN", "हाँ जी"],
    ["hi-IN", "haan ji theek hai"],
    ["hi", "मुझे कल फोन कीजिए।"],
    ["ja", "はい。"],
    ["", "Da."],
    ["en", ""],
    ["en", " ?! "],
  ])("%s: %s", (language, text) => expect(wait(text, language)).toBe(MIN_WAIT_MS));

  test("where a short answer is expected, three words are one", () => {
    expect([
      wait("Ada Lovelace", "en", true),
      wait("next Monday morning", "en", true),
      wait("Ada Lovelace"),
      wait("the one in the", "en", true),
    ]).toEqual([MIN_WAIT_MS, MIN_WAIT_MS, 500, MAX_WAIT_MS]);
  });
});

describe("an unfinished turn waits longer", () => {
  test.each([
    ["en", "Yes and"],
    ["en", "I wanted to ask because."],
    ["en", "My number is"],
    ["en", "my number is."],
    ["en", "My name is..."],
    ["en", "I think um"],
    ["en", "uh"],
    ["en", "Hmm."],
    ["en", "Well, you know"],
    ["en", "I would -"],
    ["en", "two things:"],
    ["en", "Hold on."],
    ["de", "Ich möchte, dass"],
    ["de", "meine Nummer ist"],
    ["de", "ähm"],
    ["de", "Also ich äh"],
    ["de", "Das ist mein"],
    ["fr", "je voudrais un rendez-vous parce que"],
    ["fr", "mon numéro est"],
    ["fr", "euh"],
    ["fr", "c'est l'"],
    ["es", "mi nombre es"],
    ["es", "y"],
    ["es", "quiero cambiarlo porque"],
    ["it", "il mio numero è"],
    ["it", "ehm"],
    ["pt", "meu nome é"],
    ["pt", "eu acho que"],
    ["nl", "mijn nummer is"],
    ["nl", "omdat"],
    ["hi", "मेरा नंबर है"],
    ["hi", "क्योंकि"],
    ["hi", "mera naam hai"],
    ["hi", "lekin"],
    ["hi", "matlab"],
    ["hi", "yes but"],
  ])("%s: %s", (language, text) => expect(wait(text, language)).toBe(MAX_WAIT_MS));

  test.each([
    ["en", "0 1 7"],
    ["en", "zero one seven six."],
    ["en", "It's 555 0199."],
    ["en", "one, two, three"],
    ["de", "null eins sieben sechs"],
    ["es", "seis uno dos"],
    ["hi", "nau aath saat"],
    ["hi", "नौ आठ सात"],
    ["en", "On Monday,"],
    ["en", "that depends on"],
  ])("%s: %s, a little less", (language, text) => expect(wait(text, language)).toBe(1500));

  test("shorter where the node expects a number", () => expect(wait("0 1 7 6", "en", true)).toBe(1000));
  test("words that can end a sentence: shorter after a full stop", () =>
    expect([wait("yes that's what I asked for"), wait("Yes that's what I asked for.")]).toEqual([1500, 700]));
  test("without a mark half a second has to do", () =>
    expect([wait("I would like to book a table"), wait("ich nehme den Termin", "de"), wait("xyz", "xx")]).toEqual([
      500, 500, 500,
    ]));
});

test("the wait stays within its bounds, whatever was said, and takes no time", () => {
  const said = fc
    .array(
      fc.oneof(
        fc.constantFrom("and", "yes", "1", "017", "um", ",", "...", "है", "l'", "ß"),
        fc.string({ unit: "binary", maxLength: 20 }),
      ),
      { maxLength: 30 },
    )
    .map((parts) => parts.join(" "));
  fc.assert(
    fc.property(
      said,
      fc.constantFrom("en", "de", "fr", "es", "it", "pt", "nl", "hi", "zz", ""),
      fc.boolean(),
      (text, language, expects_short) => {
        const ms = turnWaitMs({ text, language, expects_short });
        expect(ms).toBeGreaterThanOrEqual(MIN_WAIT_MS);
        expect(ms).toBeLessThanOrEqual(MAX_WAIT_MS);
        isBackchannel(text, language);
      },
    ),
    { numRuns: 300 },
  );
  for (const text of ["m".repeat(100_000), "uh ".repeat(50_000), "1 ".repeat(50_000), "'".repeat(100_000)]) {
    wait(text);
    isBackchannel(text, "en");
  }
});

describe("a backchannel", () => {
  test.each([
    ["en", "Uh-huh."],
    ["en", "mhm"],
    ["en", "Mm-hmm, okay"],
    ["en", "Hmm."],
    ["en", "ok ok"],
    ["en", "Right, I see."],
    ["en", "Yeah."],
    ["en", "All right"],
    ["de", "ja genau"],
    ["de", "Ach so, alles klar."],
    ["fr", "D’accord."],
    ["fr", "ah bon"],
    ["es", "claro, claro"],
    ["it", "ho capito"],
    ["pt", "tá bom"],
    ["nl", "jaja precies"],
    ["hi", "haan"],
    ["hi", "accha accha"],
    ["hi", "हाँ जी"],
    ["hi-IN", "okay ji"],
  ])("%s: %s", (language, text) => expect(isBackchannel(text, language)).toBe(true));

  test.each([
    ["en", ""],
    ["en", "..."],
    ["en", "okay but wait"],
    ["en", "No."],
    ["en", "right now"],
    ["en", "Really?"],
    ["en", "stop"],
    ["en", "okay okay okay okay okay okay okay"],
    ["en", "genau"],
    ["de", "ja aber"],
    ["fr", "non"],
    ["zz", "okay"],
    ["hi", "nahi"],
  ])("%s: %s is none", (language, text) => expect(isBackchannel(text, language)).toBe(false));
});
