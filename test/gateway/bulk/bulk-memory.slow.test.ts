import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import { BulkServer, queued } from "../fixtures/bulk-server.ts";

/** Slow: what it measures is the heap of a process of its own. */
const bulk = new BulkServer();
beforeAll(() => bulk.start());
afterAll(() => bulk.http.close(0));

test("10,000 rows, 8 MB: memory stays flat", async () => {
  setFlagsFromString("--expose-gc");
  const collect = runInNewContext("gc") as () => void;
  const used: number[] = [];
  let seen = 0;
  bulk.answerBatch = (batch) => {
    bulk.batches.length = 0;
    if (seen++ % 5 !== 0) return queued(batch);
    collect();
    const { heapUsed, external } = process.memoryUsage();
    used.push(heapUsed + external);
    return queued(batch);
  };
  const { req, answer } = bulk.open();
  const body = (async () => {
    const filler = "x".repeat(760);
    for (let i = 0; i < 10_000; i++)
      if (!req.write(`{"request_id":"o-${i}","payload":{"note":"${filler}"}}\n`))
        await new Promise((resolve) => req.once("drain", resolve));
    req.end();
  })();
  let bytes = 0;
  for await (const chunk of await answer) bytes += (chunk as Buffer).length;
  await body;
  expect(bytes).toBeGreaterThan(1_000_000);
  const [early, late] = [used.slice(2, 7), used.slice(-5)].map((some) => some.reduce((a, b) => a + b, 0) / some.length);
  expect(used.length).toBeGreaterThanOrEqual(20);
  expect((late ?? 0) - (early ?? 0)).toBeLessThan(2_000_000);
  expect(Math.max(...used.slice(2)) - Math.min(...used.slice(2))).toBeLessThan(6_000_000);
});
