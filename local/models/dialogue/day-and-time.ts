import { capitalise, normalise } from "./english.ts";

/** A day or a time of day a person mentioned, in their own words. */
export type Moment = Readonly<{
  /** As said, names of days and months in upper case: "Friday afternoon", "the 14th of May", "3 pm". */
  text: string;
  /** The part that names the day, if any: "Friday". */
  day: string | null;
  /** The part that names the time, if any: "afternoon", "3 pm". */
  time: string | null;
  /** "not Monday", "from Monday", "away on Monday": the person speaks against it. */
  excluded: boolean;
}>;

const WEEKDAY = "(?:monday|tuesday|wednesday|thursday|friday|saturday|sunday)s?";
const MONTH = "(?:january|february|march|april|may|june|july|august|september|october|november|december)";
const NUMBER = "(?:\\d{1,2}|one|two|three|four|five|six|seven|eight|nine|ten|eleven|twelve)";
const ORDINAL =
  "(?:\\d{1,2}(?:st|nd|rd|th)|first|second|third|fourth|fifth|sixth|seventh|eighth|ninth|tenth|eleventh|twelfth|thirteenth|fourteenth|fifteenth)";
const DAY = [
  "\\d{4}-\\d{2}-\\d{2}",
  "\\d{1,2}[/.]\\d{1,2}(?:[/.]\\d{2,4})?",
  `(?:the )?(?:\\d{1,2}|${ORDINAL})(?: of)? ${MONTH}(?: \\d{4})?`,
  `${MONTH} (?:the )?(?:${ORDINAL}|\\d{1,2})(?: \\d{4})?`,
  `(?:next |this |the following |the next |early |late )?${WEEKDAY}(?: next week| in two weeks)?`,
  "the day after tomorrow",
  "tomorrow",
  "today",
  "(?:next|this|the following) week(?:end)?",
  "the weekend",
  "the week after(?: next)?",
  `in (?:a|${NUMBER}) (?:days?|weeks?)`,
  `the ${ORDINAL}(?! (?:time|one|order|floor))`,
].join("|");
const TIME = [
  "\\d{1,2}:\\d{2}(?: ?[ap]\\.?m\\b\\.?)?",
  `${NUMBER} ?(?:[ap]\\.?m\\b\\.?|o ?'?clock)`,
  `(?:half past|quarter past|quarter to) ${NUMBER}`,
  "noon|midday|lunchtime|mornings?|afternoons?|evenings?|tonight",
  `(?<=\\b(?:at|after|before|around|about|by) )${NUMBER}(?! ?(?:home|work|\\w))`,
].join("|");
const LINK = ",? ?(?:on |at |in the |around |about |after |before |by |the |early |late |first thing in the )?";
const MOMENT = new RegExp(
  `\\b(?:(?<d1>${DAY})(?:${LINK}(?<t1>${TIME}))?|(?<t2>${TIME})(?:${LINK}(?<d2>${DAY}))?)(?!\\w)`,
  "g",
);

const AGAINST_BEFORE =
  /\b(not|never|no|from|away|busy|out|travell?ing|except|than|work|without|cancel) (?:(?:on|at|for|in|a|the|this|next|until|till|all) )*$/;
const AGAINST_AFTER =
  /^,?\s*(?:(?:is|does|will|would|just|really|at) )*(not|no good|bad|impossible|too (?:early|late|soon|short))\b/;
const PROPER = new RegExp(`\\b(${WEEKDAY}|${MONTH}(?= (?:the )?\\d|$)|(?<=\\d |of |th |st |nd |rd )${MONTH})\\b`, "g");

/** Every day or time in the text, in order; greetings such as "good morning" are none. */
export function momentsIn(text: string): Moment[] {
  const plain = normalise(text).replace(/\bgood (morning|afternoon|evening|day)\b/g, "hello");
  const found: Moment[] = [];
  for (const match of plain.matchAll(MOMENT)) {
    const { d1, d2, t1, t2 } = match.groups ?? {};
    const excluded =
      AGAINST_BEFORE.test(plain.slice(0, match.index)) ||
      AGAINST_AFTER.test(plain.slice(match.index + match[0].length));
    found.push({ text: named(match[0]), day: part(d1 ?? d2), time: part(t1 ?? t2), excluded });
  }
  return found;
}

/** Whether the moment's day is the one already on the table, e.g. named in the prompt. Without a day it is not. */
export function isOffered(moment: Moment, offered: string): boolean {
  if (moment.day === null) return false;
  const said = normalise(moment.day).replace(/^(the|this|on|next) /, "");
  return said !== "" && new RegExp(`\\b${said.replace(/[.*+?^${}()|[\]\\/]/g, "\\$&")}\\b`).test(normalise(offered));
}

function part(text: string | undefined): string | null {
  return text === undefined ? null : named(text);
}

function named(text: string): string {
  return text.trim().replace(PROPER, (name) => capitalise(name));
}
