import type { Source } from "./code.ts";
import * as names from "./names.ts";
import { said, type Violation } from "./rules.ts";
import * as structure from "./structure.ts";

/** Made-up files that break one rule of names and layout each: the line that must be named, and a word of the reason. */
const BAD: [string, (files: Source[]) => Violation[], Record<string, string>, string][] = [
  [
    "a banned name",
    names.namesAreNouns,
    { "services/a/together.ts": "" },
    "services/a/together.ts:1 the name together is banned",
  ],
  [
    "a verb in -ing",
    names.namesAreNouns,
    { "services/a/rooms/judging.ts": "", "services/a/rooms/endpointing.ts": "" },
    "services/a/rooms/judging.ts:1 the name judging is a verb in -ing",
  ],
  [
    "names that differ by their ending",
    names.namesDifferByMoreThanTheirEnding,
    { "services/a/timed.ts": "", "services/a/x/timing.ts": "" },
    "services/a/x/timing.ts:1 the name differs from services/a/timed.ts by its ending only",
  ],
  [
    "one name in two services",
    names.namesMeanOneThing,
    { "services/a/cost.ts": "", "services/b/cost.ts": "", "services/a/deps.ts": "", "services/b/deps.ts": "" },
    "services/b/cost.ts:1 services/a/cost.ts has the same name",
  ],
  [
    "a crowded folder",
    names.foldersAreSmall,
    Object.fromEntries(Array.from({ length: 31 }, (_, i) => [`services/a/x${i}.ts`, ""])),
    "services/a:1 31 files in one folder; at most 30",
  ],
  [
    "a hook at the top of a fixture",
    structure.hooksAreCalled,
    { "test/a.test.ts": "beforeAll(f);", "test/fixtures/a.ts": "function f() {\n  afterAll(g);\n}\nbeforeEach(h);" },
    "test/fixtures/a.ts:4 a hook",
  ],
  [
    "a large class",
    structure.classesAreSmall,
    { "services/a/a.ts": `\nclass Big<T> extends Map<string, T> {\n${"  x = 1;\n".repeat(299)}}\n` },
    "services/a/a.ts:2 the class Big has 301 lines; at most 300",
  ],
  [
    "a circle, by types too",
    structure.importsMakeNoCircle,
    {
      "services/a/a.ts": 'import { b } from "./b.ts";',
      "services/a/b.ts": '\nimport { c } from "./x/c.ts";',
      "services/a/x/c.ts": 'import type { A } from "../a.ts";',
    },
    "services/a/x/c.ts:1 closes the circle services/a/a.ts > services/a/b.ts > services/a/x/c.ts > services/a/a.ts",
  ],
  [
    "a tool that reaches into a service",
    structure.toolsUseTheDeclaredSurface,
    {
      "local/tools/t/a.ts":
        'import { a } from "../../../services/a/pure.ts";\nimport { x } from "../../../services/a/x.ts";',
    },
    "local/tools/t/a.ts:2 a tool imports services/a/x.ts",
  ],
  [
    "a citation of what is not there",
    structure.commentsCiteWhatIsThere,
    {
      "docs/there.md": "",
      "services/a/a.ts":
        "/** docs/there.md, a.ts, ./b/c.ts */\nconst x = 'nowhere.md'; // see gone.md 3.1\nexport const url = 1;",
      "services/a/b/c.ts": "",
    },
    "services/a/a.ts:2 cites gone.md, which is not in the repository",
  ],
  [
    "a code that nothing throws",
    (all) => structure.errorCodesAreUsed(all, ["USED", "MAPPED", "DEAD"]),
    {
      "shared/errors.ts": 'export const CATALOGUE = { USED: 1, MAPPED: 1,\nDEAD: 1 };\nconst BUS = { gone: "MAPPED" };',
      "services/a/a.ts": 'fail("USED"); // "DEAD"',
    },
    "shared/errors.ts:2 nothing throws DEAD",
  ],
  [
    "an event that nothing emits",
    (all) => structure.eventsAreEmitted(all, ["a.done", "a.gone"]),
    { "services/a/a.ts": 'bus.emit("a.done", {}); // bus.emit("a.gone")' },
    "nothing emits the event a.gone",
  ],
];

test.each(BAD)("the rules of names and layout notice %s", (_what, rule, made, expected) => {
  const found = rule(Object.entries(made).map(([path, text]) => ({ path, text }))).map(said);
  expect(found).toEqual([expect.stringContaining(expected)]);
});
