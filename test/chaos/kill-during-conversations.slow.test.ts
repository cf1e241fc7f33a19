import type { Provider } from "../../shared/contracts/records/configuration.ts";
import { gather } from "../../local/harness/evidence.ts";
import { invariants } from "../../local/harness/invariants.ts";
import { startProduct, type Product } from "../../local/harness/product.ts";
import { until } from "../../local/harness/stage.ts";
import { voiceStage, type Called, type VoiceStage } from "../fixtures/product/audio-product.ts";
import { TALKS } from "../fixtures/product/audio-templates.ts";
import { transcriptOf } from "../fixtures/product/audio-transcripts.ts";

const START_MS = 150_000;
const TEST_MS = 180_000;
const POLL_MS = 250;
const PROVIDERS: readonly Provider[] = ["PROVIDER_ONE", "PROVIDER_TWO", "PROVIDER_THREE"];
const ENV = {
  LEASE_SECONDS: "5",
  PLACEMENT_GRACE_SECONDS: "10",
  SWEEP_INTERVAL_MS: "500",
  SCHEDULER_INTERVAL_MS: "300",
};
/** Says something, and stays on the line whatever happens. */
const STAYS = [{ wait_for: "question", say: "Let me see." }];
/** The longest that a call outlives its conversation process: two seconds, and what a busy machine needs besides. */
const MOST_AFTER_MS = 10_000;

describe("SIGKILL of the conversation process during conversations over audio", () => {
  let product: Product;
  let stage: VoiceStage;
  beforeAll(async () => {
    product = await startProduct({ split: true, engine: "cascade", providers: PROVIDERS, env: ENV });
    stage = await voiceStage(product);
  }, START_MS);
  afterAll(async () => {
    if (product) await product.stop();
  }, START_MS);

  test(
    "19: every call ends at its carrier, every lead is settled, every number free; the restarted process holds new conversations",
    async () => {
      const talks: Called[] = [];
      for (const provider of PROVIDERS)
        talks.push(await stage.call(await stage.campaign(`stays ${provider}`, provider, TALKS.short), STAYS));
      talks.push(
        await stage.call(
          await stage.campaign("stays, realtime", "PROVIDER_ONE", TALKS.short, { template: { engine: "realtime" } }),
          STAYS,
        ),
      );
      await until(
        "everybody to have spoken",
        async () => {
          const said = new Set((await product.ledger()).filter((l) => l.kind === "said").map((l) => l.to));
          return talks.every((t) => said.has(t.number)) || undefined;
        },
        TEST_MS,
        POLL_MS,
      );
      const live = (await gather(product)).calls.filter((c) => c.ended_at === null);
      expect(live).toHaveLength(talks.length);

      product.stack.children.get("conversation")?.kill("SIGKILL");
      const killed = Date.now();
      const leads = await Promise.all(talks.map((t) => stage.finished(t.lead_id)));
      const { calls } = await invariants(product);
      for (const call of calls) expect(Date.parse(call.ended_at ?? "") - killed).toBeLessThan(MOST_AFTER_MS);
      // what had been said is not lost
      for (const lead of leads) expect(transcriptOf(lead).length).toBeGreaterThan(0);

      const again = await stage.call(await stage.campaign("after it", "PROVIDER_ONE", TALKS.short), [
        { wait_for: "question", say: "Yes, please." },
      ]);
      const lead = await stage.finished(again.lead_id);
      expect(["call_error", "failed"]).not.toContain(lead.outcome);
      expect(transcriptOf(lead).some((line) => line.role === "user")).toBe(true);
    },
    TEST_MS,
  );
});
