/** One way to write the numbers of some phones: which numbers are written so, and how each of them is. Groups of one name are the same digits in every way. */
type Way = readonly [written: RegExp, spelling: string];

/**
 * Phones that ring under two spellings in E.164, both valid, by country; the first way is the one a phone is known by. Which of them a carrier takes is its own matter: a number is
 * dialled as it was given.
 * - Argentina: 9 before the area code marks a mobile phone, and may be left out (FAQ of libphonenumber on Argentina).
 * - Mexico: until 2019 mobile phones had a 1 (the same on Mexico); carriers still show it of callers.
 * - Brazil: since 2016 mobile phones have a 9 before their eight digits, which some networks add (Anatel, Resolution 553/2010).
 * - San Marino: has a calling code of its own, with or without 0549, and Italy's with it (ITU-T E.164 national numbering plan of San Marino).
 */
const WAYS: readonly (readonly Way[])[] = [
  [
    [/^\+54(?<number>[1-3][0-9]{9})$/, "+54$<number>"],
    [/^\+549(?<number>[1-3][0-9]{9})$/, "+549$<number>"],
  ],
  [
    [/^\+52(?<number>[2-9][0-9]{9})$/, "+52$<number>"],
    [/^\+521(?<number>[2-9][0-9]{9})$/, "+521$<number>"],
  ],
  [
    [/^\+55(?<area>[1-9]{2})9(?<number>[6-9][0-9]{7})$/, "+55$<area>9$<number>"],
    [/^\+55(?<area>[1-9]{2})(?<number>[6-9][0-9]{7})$/, "+55$<area>$<number>"],
  ],
  [
    [/^\+3780549(?<number>[0-9]{6})$/, "+3780549$<number>"],
    [/^\+390549(?<number>[0-9]{6})$/, "+390549$<number>"],
    [/^\+378(?<number>[89][0-9]{5})$/, "+378$<number>"],
  ],
];
/** Beginnings of all of them: other numbers, which most are, cost one look. */
const MAY_HAVE_WAYS = /^\+(?:5[245]|39054|378)/;

/** The spellings of a number in E.164 that ring the same phone, the one it is known by first. */
function allWays(e164: string): readonly string[] {
  if (!MAY_HAVE_WAYS.test(e164)) return [e164];
  for (const ways of WAYS)
    for (const [written] of ways)
      if (written.test(e164)) return ways.map(([, spelling]) => e164.replace(written, spelling));
  return [e164];
}

/** The spellings of a number in E.164 that ring the same phone: the number itself first, and in most countries alone. What is kept of a phone is sought by all of them. */
export const spellingsOf = (e164: string): readonly string[] => [
  e164,
  ...allWays(e164).filter((spelling) => spelling !== e164),
];

/** The one spelling by which a phone is known, whichever of its own was given. */
export const phoneOf = (e164: string): string => allWays(e164)[0] ?? e164;

/** Whether a list of numbers in E.164 has the phone of a number, in whatever spelling. */
export const hasPhone = (list: readonly string[], e164: string): boolean =>
  spellingsOf(e164).some((spelling) => list.includes(spelling));

/** A filter of the database for a field that holds one of these; a lone one is asked for by itself, which every index serves. */
export const anyOf = ([first = "", ...more]: readonly string[]): string | { $in: string[] } =>
  more.length === 0 ? first : { $in: [first, ...more] };

/** A filter of the database for a field that holds a number: any spelling of its phone. */
export const ofPhone = (e164: string): string | { $in: string[] } => anyOf(spellingsOf(e164));
