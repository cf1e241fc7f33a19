import { randomInt } from "node:crypto";
import { runCommand } from "../../shared/process/command-line.ts";
import { SOAK } from "../commands.ts";

/** `npm run soak`: the product under faults, or the embedded store under hostile clients. */
const MOST_SEED = 1_000_000;
await runCommand(SOAK, async ({ values, operands: [what] }) => {
  const seed = values.seed ?? String(randomInt(MOST_SEED));
  if (what === "store") process.exit(await (await import("./store/main.ts")).soakStore(values.minutes ?? 10, seed));
  else process.exit(await (await import("./product.ts")).soakProduct(values.minutes ?? 30, seed));
});
