import { openFleet } from "../engine/fleet.ts";
import { countCosts } from "./item-costs.ts";

/**
 * For `npm run bench -- guard`: prints as JSON what each item costs, and the processor time of every further round of counting, ms; their number is the argument.
 * The first round loads and warms up the services, and its time says nothing.
 */
const fleet = openFleet(1);
const costs = await countCosts(fleet);
const processor_ms: number[] = [];
for (let round = Number(process.argv[2] ?? 0); round > 0; round--) {
  const before = process.cpuUsage();
  await countCosts(fleet);
  const { user, system } = process.cpuUsage(before);
  processor_ms.push((user + system) / 1000);
}
process.stdout.write(JSON.stringify({ costs, processor_ms }));
await fleet.close();
