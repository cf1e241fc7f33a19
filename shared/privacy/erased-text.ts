/** What stands where a text held an erased number. */
export const ERASED = "erased";

/** As many of a number's last digits as tell it in any spelling: with and without its country code, or a trunk prefix. */
const TELLING_DIGITS = 7;

const digitsOf = (text: string): string => text.replaceAll(/\D/g, "");

/** Whether a text holds this number, in E.164, in digits alone, in its country's own way or with separators. Others that end alike are taken for it. */
export const holdsNumber = (text: string, e164: string): boolean =>
  digitsOf(text).includes(digitsOf(e164).slice(-TELLING_DIGITS));

/** The text, unless it holds the number. */
export const withoutNumber = (text: string, e164: string): string => (holdsNumber(text, e164) ? ERASED : text);
