import { join } from "node:path";
import { readRows } from "../../local/tools/demo/leads-csv.ts";
import { ROOT } from "../../local/tools/stack/project-root.ts";
import { isDone } from "../../local/tools/demo/lead-run.ts";
import { OUTCOMES } from "../../services/leads/rules/outcomes.ts";
import { invariants } from "../../local/harness/invariants.ts";
import { startProduct, type Product } from "../../local/harness/product.ts";

const START_MS = 90_000;
const RUN_MS = 200_000;
const rows = readRows(join(ROOT, "local", "tools", "sample", "leads.csv"));

/** Leases are short here, so that a lost holder is noticed within the test's time; the rules are the same. */
const ENV = { LEASE_SECONDS: "5", PLACEMENT_GRACE_SECONDS: "10", SWEEP_INTERVAL_MS: "500" };

describe("SIGKILL of the service process in the middle of the demo", () => {
  let product: Product;
  beforeAll(async () => {
    product = await startProduct({ env: ENV });
  }, START_MS);
  afterAll(async () => {
    if (product) await product.stop();
  }, START_MS);

  test(
    "every lead still ends, no attempt rings twice, every report arrives",
    async () => {
      const killAt = [5, 12];
      let kills = 0;
      const all = await product.run(rows, (progress) => {
        const next = killAt[kills];
        if (
          next !== undefined &&
          progress.filter(isDone).length >= next &&
          progress.some((p) => p.state === "PROCESSING")
        ) {
          kills++;
          product.stack.children.get("services")?.kill("SIGKILL");
        }
      });
      expect(kills).toBe(killAt.length);
      expect(all.filter((p) => !isDone(p)).map((p) => `${p.row.request_id} is ${p.state}`)).toEqual([]);
      const words = new Set([...Object.keys(OUTCOMES), "confirmed", "rescheduled", "declined"]);
      for (const p of all) if (p.state === "FINISHED") expect(words).toContain(p.outcome);
      expect(product.log.filter((l) => l.event === "lead.recovered").length).toBeGreaterThan(0);
      await invariants(product, all);
    },
    RUN_MS,
  );
});
