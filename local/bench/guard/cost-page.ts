import { ITEMS, totalsOf, type Cost, type Costs } from "./costs.ts";

/** The page that keeps the costs, from the project's root. */
export const PAGE = "docs/cost.md";
/** What writes it. */
export const WRITE = "npm run bench -- guard --write";

const HEAD = `# Costs

Written by \`${WRITE}\`; never edited by hand. What the services ask of database and bus for one item, counted in the simulation's virtual time ([costed-road.ts](../test/simulation/engine/costed-road.ts)): one process of each of leads, scheduler, dialer, numbers, conversation and webhook with the default settings, one lead in an empty world, no fault. It is the same to the byte on every machine; \`npm test\` fails where the code and this page differ.

| column | counts |
|---|---|
| statements | reads and writes of documents, readings of the database's clock; of a bulk write each write |
| statement bytes | BSON of their filters, changes, documents and answers |
| messages | requests, answers and events of the bus, each once per receiver |
| message bytes | their JSON |

An item is what a run with it has more than a run without it, so a periodic look that comes earlier because of it can count −1. \`push\`: until 15 s after it; \`claim\`: from 5 s before the lead is due until the dialer is asked; a call: from there until nothing is left to do, without a webhook URL; \`webhook event\`: what a busy call with a webhook URL takes more than one without. Calls are over the text relay. Configurations, blacklist, merchants, auth and gateway are simulated parts: messages to them count, their own statements do not.

\`npm run bench -- guard [ref]\` judges these figures, times the simulation that counts them beside that of another commit (\`HEAD^\`), eight rounds in each of three pairs of processes, then plays pushes, busy, unanswered and answered calls (relay and sound, 4 and 10 turns; each with its claim and its webhook event) and idle minutes on real processes, in rounds that alternate with that commit's services, so that a busy machine slows both, for about an hour: their processor time, and their commands to the database. \`--short\` takes less than three minutes: pushes, busy calls, calls of 4 turns over the relay. It fails on one statement more; on 5 % more statement bytes, messages or message bytes; on processor time whose ratio is above 1.05 even at the low end of its 99 % interval, in each of two pairs of processes, and on commands that are surely more than 2 more. Where git has no such commit (a shallow clone) it says so and judges the counts alone.

**When the guard is red**: it names what grew. Take the statement, byte or message out again. A landing that must cost more raises the kept figure in its own commit (\`${WRITE}\`) and says what it buys. One that costs less lowers it the same way, so that the gain is kept.
`;

const COLUMNS = "| item | statements | statement bytes | messages | message bytes |\n|---|---|---|---|---|";
const PARTS = "| item | of | count and kind |\n|---|---|---|";
const figure = (n: number): string => n.toLocaleString("en");
const listOf = (parts: Cost["statements"]): string =>
  Object.entries(parts)
    .sort(([a], [b]) => (a < b ? -1 : 1))
    .map(([what, count]) => `${count} ${what}`)
    .join(", ");

/** The page of these costs. */
export function pageOf(costs: Costs): string {
  const rows = ITEMS.map((item) => `| ${item} | ${Object.values(totalsOf(costs[item])).map(figure).join(" | ")} |`);
  const parts = ITEMS.flatMap((item) => [
    `| ${item} | statements | ${listOf(costs[item].statements)} |`,
    `| ${item} | messages | ${listOf(costs[item].messages)} |`,
  ]);
  return `${HEAD}\n${COLUMNS}\n${rows.join("\n")}\n\n## Which they are\n\nA request and its answer are two messages of one kind.\n\n${PARTS}\n${parts.join("\n")}\n`;
}

const partsIn = (cell: string): Record<string, number> =>
  Object.fromEntries([...cell.matchAll(/(-?\d+) ([^,]+)/g)].map(([, count, what = ""]) => [what, Number(count)]));

/** The costs that a page keeps. Throws where it lacks an item. */
export function costsIn(page: string): Costs {
  const rows = page.split("\n").map((line) => line.split("|").map((cell) => cell.trim()));
  const rowOf = (item: string, isRow: (cells: string[]) => boolean): string[] => {
    const row = rows.find((cells) => cells[1] === item && isRow(cells));
    if (!row) throw new Error(`${PAGE} keeps no ${item}: ${WRITE}`);
    return row;
  };
  const costOf = (item: string): Cost => {
    const totals = rowOf(item, (cells) => cells.length === 7);
    const [statements, messages] = ["statements", "messages"].map((of) =>
      partsIn(rowOf(item, (cells) => cells[2] === of)[3] ?? ""),
    );
    const bytes = (cell: string | undefined): number => Number((cell ?? "").replaceAll(",", ""));
    return {
      statements: statements ?? {},
      statement_bytes: bytes(totals[3]),
      messages: messages ?? {},
      message_bytes: bytes(totals[5]),
    };
  };
  return Object.fromEntries(ITEMS.map((item) => [item, costOf(item)])) as Record<(typeof ITEMS)[number], Cost>;
}
