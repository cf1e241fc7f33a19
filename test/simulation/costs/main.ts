import { openFleet } from "../engine/fleet.ts";
import { countCosts } from "./item-costs.ts";

/** Prints what each item costs as JSON, for `npm run bench -- guard`. */
const fleet = openFleet(2);
process.stdout.write(JSON.stringify(await countCosts(fleet)));
await fleet.close();
