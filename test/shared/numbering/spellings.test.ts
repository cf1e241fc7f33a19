import { hasPhone, ofPhone, phoneOf, spellingsOf } from "../../../shared/numbering/spellings.ts";

/** Spellings in E.164 that ring one phone, the one it is known by first. */
const ONE_PHONE: [country: string, spellings: string[]][] = [
  ["Argentina", ["+541123456789", "+5491123456789"]],
  ["Argentina, an area code of four digits", ["+542982123456", "+5492982123456"]],
  ["Mexico", ["+525512345678", "+5215512345678"]],
  ["Brazil", ["+5511987654321", "+551187654321"]],
  ["San Marino", ["+3780549886377", "+390549886377", "+378886377"]],
];

test.each(ONE_PHONE)("a phone of %s is one under each of its spellings", (_country, spellings) => {
  for (const one of spellings) {
    expect([phoneOf(one), spellingsOf(one)[0], [...spellingsOf(one)].sort()]).toEqual([
      spellings[0],
      one,
      [...spellings].sort(),
    ]);
    for (const other of spellings) expect(hasPhone([other, "+14155550100"], one)).toBe(true);
    expect(ofPhone(one)).toEqual({ $in: [...spellingsOf(one)] });
  }
});

test.each([
  ["+14155550100"],
  ["+4915112345678"],
  ["+548001234567"],
  ["+551123456789"],
  ["+5511912345678"],
  ["+390612345678"],
  ["+524"],
])("%s has no other spelling", (e164) => {
  expect([phoneOf(e164), spellingsOf(e164), ofPhone(e164), hasPhone(["+14155550199"], e164)]).toEqual([
    e164,
    [e164],
    e164,
    false,
  ]);
});
