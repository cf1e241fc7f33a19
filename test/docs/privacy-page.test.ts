import { collections } from "../../deploy/migrate/collections.ts";
import { contracts } from "../../shared/contracts/index.ts";
import { ERASED_KINDS } from "../../shared/contracts/requests/erasures.ts";
import { collectionsOf } from "../house/rules.ts";
import { readProject } from "../house/sources.ts";
import { pageAt } from "./pages.ts";

/** What the page says of each collection. */
interface Told {
  of_person: string;
  eraser: string;
}

/** Rows of the page's table, by the names of their collections. */
function toldIn(page: string): Map<string, Told> {
  const told = new Map<string, Told>();
  const [, table = ""] = page.split("| collection |");
  for (const line of (table.split("\n\n")[0] ?? "").split("\n").filter((row) => row.startsWith("| `"))) {
    const [names = "", of_person = "", eraser = ""] = line
      .split("|")
      .slice(1)
      .map((cell) => cell.trim());
    for (const [, name = ""] of names.matchAll(/`([a-z0-9_]+)`/g)) told.set(name, { of_person, eraser });
  }
  return told;
}

/** What is wrong with the table: collections that it does not name, or that do not exist; erasers that there are not; collections of a person that nobody erases. */
function issuesOf(told: ReadonlyMap<string, Told>, owners: ReadonlyMap<string, string>): string[] {
  const unnamed = [...owners.keys()].filter((name) => !told.has(name)).map((name) => `${name} is not in the table`);
  const erasers = Object.values(contracts).flatMap(({ name, actions }) => ("eraseNumber" in actions ? [name] : []));
  const wrong = [...told].flatMap(([name, { of_person, eraser }]) => {
    if (!owners.has(name)) return [`${name} is no collection`];
    if (/^(?:nothing|ids)\b/.test(of_person)) return eraser === "-" ? [] : [`${name} has nothing to erase`];
    const owner = owners.get(name);
    if (eraser !== owner) return [`${name} is ${owner}'s to erase, not ${eraser}'s`];
    // the leads service asks the others, and erases its own
    return owner === "leads" || erasers.some((name) => name === eraser) ? [] : [`${owner} has no action eraseNumber`];
  });
  return [...unnamed, ...wrong];
}

const owners = new Map(
  collectionsOf(readProject().filter(({ path }) => path.startsWith("services/"))).map((c) => [c.collection, c.service]),
).set("deployment_clock", "shared");
const page = pageAt("docs/privacy.md");

test("every collection is told, with who erases it or why nobody has to", () => {
  expect(owners.size).toBeGreaterThan(25);
  expect(collections.map(({ name }) => name).filter((name) => !owners.has(name))).toEqual([]);
  expect(issuesOf(toldIn(page), owners)).toEqual([]);
});

test("a collection that was forgotten is found, and so is an eraser that there is not", () => {
  const table =
    "| collection |\n|---|\n| `calls` | number | dialer | no |\n| `audit` | the number | auth | no |\n| `numbers` | number | - | no |";
  const some = new Map([
    ["calls", "dialer"],
    ["audit", "auth"],
    ["numbers", "numbers"],
    ["faces", "dialer"],
  ]);
  expect(issuesOf(toldIn(table), some)).toEqual([
    "faces is not in the table",
    "auth has no action eraseNumber",
    "numbers is numbers's to erase, not -'s",
  ]);
});

test("what an erasure counts is of what the page says is erased", () => {
  expect(ERASED_KINDS).toHaveLength(11);
  for (const owner of ["leads", "dialer", "webhook", "conversation", "blacklist"])
    expect([...toldIn(page).values()].map(({ eraser }) => eraser)).toContain(owner);
});
