import { alike } from "../../fixtures/product/audio-transcripts.ts";

const ASKED = "Good morning, this is the shop. Do you confirm the order of two chairs?";

test.each([
  ["the same words", ASKED, ASKED],
  ["holes that split and join words", "Good mor ning, this isthe shp. Do you confrm the order of two chairs?", ASKED],
  ["a letter of a short answer", "Yes, plese.", "Yes, please."],
  ["signs and capitals", "yes please", "Yes, please."],
])("%s are alike", (_, heard, said) => {
  expect(alike(heard, said)).toBe(true);
});

test.each([
  ["another answer", "No.", "Yes, please."],
  ["a sentence that is missing", "Good morning, this is the shop.", ASKED],
  ["two words of another meaning", "Good morning, this is the bank. Do you cancel the order of two chairs?", ASKED],
  ["nothing", "", "Yes."],
])("%s is not alike", (_, heard, said) => {
  expect(alike(heard, said)).toBe(false);
});
