import { MAX_PER_RECEIVER } from "../../../services/webhook/hosts/host-slots.ts";
import { systemClock } from "../../../shared/time/clock.ts";
import { after, until } from "../../../local/harness/stage.ts";
import { deliveryOf, enqueueReports, illReceiver, webhookAlone } from "../fixtures/ill-receiver.ts";

const ILL_MS = 15_000;
const FLOWS_WITHIN_MS = 10_000;

test("in real time: a receiver that is ill for 15 s has all of its events within 10 s of being well", async () => {
  const [stage, sink] = [await webhookAlone(systemClock), await illReceiver()];
  try {
    const ids = await enqueueReports(stage, sink.url, 40);
    await after(ILL_MS);
    const whileIll = sink.state.requests;
    expect(whileIll).toBeLessThanOrEqual(MAX_PER_RECEIVER + 4 + 5);
    sink.state.ill = false;
    const well = performance.now();
    for (const id of ids)
      await until("the event to be delivered", async () =>
        (await deliveryOf(stage, id)).state === "delivered" ? true : undefined,
      );
    expect(performance.now() - well).toBeLessThan(FLOWS_WITHIN_MS);
    expect(sink.state.most).toBeLessThanOrEqual(MAX_PER_RECEIVER);
    expect(sink.state.requests - whileIll).toBe(40);
  } finally {
    await stage.stop();
    sink.close();
  }
});
