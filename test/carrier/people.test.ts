import { afterAll, beforeAll, expect, test } from "@jest/globals";
import { orderAgent, startBench, until, type Bench } from "./agent.ts";

let bench: Bench;
beforeAll(async () => { bench = await startBench(); bench.agent.script = orderAgent; });
afterAll(() => bench.close());

test("01 rings, answers, confirms, and the agent's end hangs up", async () => {
  const sid = await bench.call("+15550000001");
  const row = await bench.ended(sid);
  console.log(JSON.stringify(await bench.entries(undefined, sid), null, 1));
  expect(row).toMatchObject({ status: "completed", rang: true, answered: true, ended_by: "relay_end" });
});
