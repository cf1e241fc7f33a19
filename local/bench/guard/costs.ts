/** What one item costs: how many of each statement for the database and of each message of the bus, and the bytes of all of them. */
export interface Cost {
  statements: Readonly<Record<string, number>>;
  statement_bytes: number;
  messages: Readonly<Record<string, number>>;
  message_bytes: number;
}

/** The items in the order of the page. */
export const ITEMS = [
  "push",
  "claim",
  "unanswered call",
  "busy call",
  "answered call, 4 turns",
  "answered call, a minute with 10 turns",
  "webhook event",
  "2 idle minutes",
] as const;

/** One of them. */
export type Item = (typeof ITEMS)[number];

/** What each item costs. */
export type Costs = Readonly<Record<Item, Cost>>;

/** How many there are of all kinds. */
export const sumOf = (parts: Readonly<Record<string, number>>): number =>
  Object.values(parts).reduce((a, b) => a + b, 0);

/** The same as one row of figures. */
export const totalsOf = ({ statements, statement_bytes, messages, message_bytes }: Cost) => ({
  statements: sumOf(statements),
  "statement bytes": statement_bytes,
  messages: sumOf(messages),
  "message bytes": message_bytes,
});

/** One figure of a cost. */
export type Figure = keyof ReturnType<typeof totalsOf>;
