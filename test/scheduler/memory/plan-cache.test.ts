import { createPlanCache } from "../../../services/scheduler/memory/plan-cache.ts";
import type { Plan } from "../../../shared/contracts/config.ts";
import { setStage, standIn, type Stage } from "../../../local/harness/stage.ts";
import { virtualClock } from "../../fixtures/virtual-clock.ts";

const TEMPLATE = "11111111-1111-4111-8111-111111111111";
const TTL_MS = 5000;
const plan: Plan = {
  template_id: TEMPLATE,
  version: 1,
  is_active: true,
  max_age_seconds: 3600,
  max_call_seconds: 600,
  retry_on: null,
  configuration: null,
};

const clock = virtualClock();
/** Of how many plans it was said each time that they are known. */
const asked: number[] = [];
/** How long the config service takes to answer. */
let answersAfterMs = 0;
/** The template is deleted. */
let gone = false;
let stage: Stage;
beforeAll(async () => {
  const config = standIn("config", {
    async plans({ known = [] }) {
      asked.push(known.length);
      await clock.advance(answersAfterMs);
      if (gone) return { plans: [], unchanged: [], read: 1 };
      return known.length > 0
        ? { plans: [], unchanged: [TEMPLATE], read: 1 }
        : { plans: [{ ...plan, stamp: "a".repeat(32) }], unchanged: [], read: 1 };
    },
  });
  stage = await setStage({ services: [config] });
});
afterAll(() => stage.stop());

test("a plan that goes from the cache while it is asked for is the plan still: its template is not taken for a deleted one", async () => {
  const cache = createPlanCache({ bus: stage.bus, clock }, TTL_MS);
  const read = async (): Promise<Plan | null | undefined> => (await cache.plans([TEMPLATE])).of.get(TEMPLATE);
  expect((await read())?.version).toBe(1);
  // a plan is kept for a minute: this read begins before its end, and ends after it
  await clock.advance(59_990);
  answersAfterMs = 20;
  expect((await read())?.version).toBe(1);
  answersAfterMs = 0;
  await clock.advance(TTL_MS);
  expect((await read())?.version).toBe(1);
  gone = true;
  await clock.advance(TTL_MS);
  expect(await read()).toBeNull();
  expect(asked).toEqual([0, 1, 0, 1]);
});
