import { until } from "../../../local/harness/stage.ts";
import { virtualClock } from "../../fixtures/virtual-clock.ts";
import { deliveryOf, enqueueReports, illReceiver, webhookAlone } from "../fixtures/ill-receiver.ts";

/** Longest pause between two probes, with the pass that sends them. */
const PROBED_WITHIN_MS = 6000;
/** Longer: each step makes one probe due. */
const STEP_MS = 60_000;
const HOUR_MS = 3_600_000;

test("probes cost a delivery no try of its plan: a host that is down for an hour leaves it six tries of ten, and one that is down for three days ends it", async () => {
  const clock = virtualClock(new Date());
  const [stage, sink] = [await webhookAlone(clock), await illReceiver()];
  const [id = ""] = await enqueueReports(stage, sink.url, 1);
  /** Lets time pass, until the try that it makes due is written down: what is taken for a try is due later than a probe, what is not taken yet no later than now. */
  const step = async (ms: number): Promise<void> => {
    await clock.pass(ms);
    await until("the try to be written down", async () => {
      const { state, next_try_at } = await deliveryOf(stage, id);
      const inMs = Date.parse(next_try_at ?? "") - clock.now().getTime();
      return state !== "pending" || (inMs > 0 && inMs <= PROBED_WITHIN_MS) || undefined;
    });
  };
  try {
    await step(0);
    for (let ms = 0; ms < HOUR_MS; ms += STEP_MS) await step(STEP_MS);
    expect((await deliveryOf(stage, id)).tries).toHaveLength(4); // at once, after 5 s, 5 min and 35 min
    expect(sink.state.requests).toBe(1 + HOUR_MS / STEP_MS);
    for (let hours = 0; hours < 90 && (await deliveryOf(stage, id)).state === "pending"; hours++) await step(HOUR_MS);
    expect(await deliveryOf(stage, id)).toMatchObject({ state: "exhausted", tries: { length: 10 } });
  } finally {
    await stage.stop();
    sink.close();
  }
});
