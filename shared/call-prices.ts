import { isSupportedCountry } from "libphonenumber-js/min";

/** The price of a started minute of conversation, by ISO country; `*` for all others. */
export type CallPrices = ReadonlyMap<string, number>;

const ANY = "*";
const COUNTRY = /^[A-Z]{2}$/;
const AMOUNT = /^\d{1,4}(?:\.\d{1,6})?$/;

/** True for an amount as a price table has it. */
export const isPriceAmount = (text: string): boolean => AMOUNT.test(text);

/** Reads a price table like `US=0.014,GB=0.02,*=0.05`, with each of its validation issues as a sentence. */
export function parseCallPrices(text: string | undefined): { prices: CallPrices; faults: string[] } {
  const prices = new Map<string, number>();
  const faults: string[] = [];
  for (const entry of (text ?? "")
    .split(",")
    .map((e) => e.trim())
    .filter((e) => e !== "")) {
    const [country = "", amount = "", ...more] = entry.split("=").map((part) => part.trim());
    const known = country === ANY || (COUNTRY.test(country) && isSupportedCountry(country));
    if (more.length > 0 || amount === "")
      faults.push(`CALL_PRICES holds "${entry}"; write each price as COUNTRY=AMOUNT, like US=0.014`);
    else if (!known)
      faults.push(
        `CALL_PRICES holds "${country}", which is no ISO country with telephone numbers; write two capital letters (GB, not UK), or * for all others`,
      );
    else if (!AMOUNT.test(amount))
      faults.push(
        `CALL_PRICES holds "${amount}" for ${country}; write an amount per minute with a point and at most six decimals, like 0.014`,
      );
    else if (prices.has(country)) faults.push(`CALL_PRICES names ${country} twice`);
    else prices.set(country, Number(amount));
  }
  return { prices, faults };
}

/** The price of a minute to this country; null: the table has none. */
export const pricePerMinute = (prices: CallPrices, country: string | null): number | null =>
  (country === null ? undefined : prices.get(country)) ?? prices.get(ANY) ?? null;
