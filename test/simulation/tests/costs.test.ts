import { readFileSync } from "node:fs";
import { join } from "node:path";
import { costsIn, PAGE, pageOf } from "../../../local/bench/guard/cost-page.ts";
import { ROOT } from "../../../local/tools/stack/project-root.ts";
import { countCosts } from "../costs/item-costs.ts";
import { openFleet } from "../engine/fleet.ts";

/** On a busy machine. */
const PATIENCE_MS = 240_000;

test(
  "every item costs to the byte what docs/cost.md keeps; npm run bench -- guard --write keeps what it costs now",
  async () => {
    const fleet = openFleet(1);
    const costs = await countCosts(fleet).finally(() => fleet.close());
    const page = readFileSync(join(ROOT, PAGE), "utf8");
    expect(costs).toEqual(costsIn(page));
    expect(page).toBe(pageOf(costs));
  },
  PATIENCE_MS,
);
