import { MongoClient } from "mongodb";
import type { LeadDoc } from "../../services/leads/leads.model.ts";
import type { Progress } from "../../deploy/local/demo/run.ts";
import type { Product } from "./product.ts";
import { until } from "./stage.ts";

const QUIET_MS = 30_000;
const BLACKLISTED = "NUMBER_BLACKLISTED";

/** Everything that must hold once all is quiet, judged from the carrier's ledger, the sink and the database (house.md 6, reliability.md 2). */
export async function invariants(product: Product, all: Progress[]): Promise<void> {
  const calls = await until("all calls of the carrier to end", async () => {
    const rows = await product.ledgerCalls();
    return rows.every((c) => c.ended_at !== null) ? rows : undefined;
  }, QUIET_MS);

  const references = calls.map((c) => c.reference);
  expect(references.filter((r) => r === null)).toEqual([]);
  expect(references.filter((r, i) => references.indexOf(r) !== i)).toEqual([]);
  expect(calls.filter((c) => c.rings > 1).map((c) => c.reference)).toEqual([]);
  const listed = all.filter((p) => p.row.expected.endsWith(BLACKLISTED)).map((p) => p.row.payload["customer_mobile_number"]);
  expect(calls.filter((c) => listed.includes(c.to))).toEqual([]);

  const client = await MongoClient.connect(product.stack.mongoUri);
  try {
    const leads = await client.db().collection<LeadDoc>("leads").find().toArray();
    for (const lead of leads) {
      if (lead.status === "FINISHED") expect(lead.outcome).toBeTruthy();
      else expect(lead).toMatchObject({ status: "BACKLOG", phone_number: null });
      expect(lead.attempt_count).toBeLessThanOrEqual(2);
      expect(lead.attempt_count).toBeGreaterThanOrEqual(0);
      expect(calls.filter((c) => c.reference?.startsWith(lead._id)).length).toBeLessThanOrEqual(2);
    }
    await until("every line to be free", async () => {
      const numbers = await client.db().collection<{ slots?: { until: Date }[] }>("numbers").find().toArray();
      return numbers.every((n) => (n.slots ?? []).every((slot) => slot.until < new Date())) || undefined;
    }, QUIET_MS);
  } finally { await client.close(); }

  const finished = all.filter((p) => p.state === "FINISHED");
  expect(finished.filter((p) => !product.sink.reports.has(p.lead_id ?? ""))).toEqual([]);
  expect(product.sink.refused).toEqual([]);
}
