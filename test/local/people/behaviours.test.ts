import { afterAll, beforeAll, expect, test } from "@jest/globals";
import { BEHAVIOURS } from "../../../local/people/behaviours.ts";
import type { CallRow } from "../../../local/carriers/ledger/call-rows.ts";
import { orderAgent, startBench, until, type Bench, type Frame, type Session } from "../carriers/fixtures/agent.ts";

let bench: Bench;
const sids: Record<string, string> = {};

beforeAll(async () => {
  bench = await startBench({ timeScale: 100 });
  bench.agent.script = orderAgent;
  for (const suffix of Object.keys(BEHAVIOURS)) {
    if (suffix !== "10") sids[suffix] = await bench.call(`+155500000${suffix}`, { timeout: 5 }, 'dtmfDetection="true"');
  }
});
afterAll(() => bench.close());

const ended = (suffix: string): Promise<CallRow> => bench.ended(sids[suffix]!);
const session = (suffix: string): Session => bench.agent.sessions.find((s) => s.setup["callSid"] === sids[suffix])!;
const prompts = (suffix: string): string[] =>
  session(suffix)
    .frames.filter((f: Frame) => f.type === "prompt")
    .map((f) => String(f["voicePrompt"]));

test("the table names every behaviour that docs/tools.md lists", () => {
  expect(Object.keys(BEHAVIOURS).sort()).toEqual(Array.from({ length: 19 }, (_, n) => String(n + 1).padStart(2, "0")));
  for (const { name, description } of Object.values(BEHAVIOURS))
    expect(name.length * description.length).toBeGreaterThan(0);
});

test("01 confirms", async () => {
  expect(await ended("01")).toMatchObject({ status: "completed", rang: true, answered: true, ended_by: "relay_end" });
  expect(prompts("01")).toHaveLength(1);
  expect(prompts("01")[0]).toMatch(/confirm|go ahead/i);
});

test("02 does not like the day and names another when asked", async () => {
  expect((await ended("02")).ended_by).toBe("relay_end");
  expect(prompts("02")).toHaveLength(2);
  expect(prompts("02")[0]).toMatch(/suit/i);
  expect(prompts("02")[1]).toMatch(/friday|tuesday at 5 pm/i);
});

test("03 says one impatient sentence and hangs up", async () => {
  expect(await ended("03")).toMatchObject({ status: "completed", ended_by: "callee" });
  expect(prompts("03")).toHaveLength(1);
  expect(prompts("03")[0]).toMatch(/not now/i);
});

test("04 hangs up without a word", async () => {
  const row = await ended("04");
  expect(row).toMatchObject({ status: "completed", answered: true, ended_by: "callee" });
  expect(row.transcript.filter((t) => t.who === "person")).toEqual([]);
  // half a second of the machine's time, a hundredfold: a busy machine is late; whoever stays does so for minutes
  expect(row.simulated_seconds).toBeLessThan(50);
});

test("05 never says a word and stays", async () => {
  await until(() => session("05")?.frames.some((f) => f.type === "setup"), "the silent one's answer");
  await until(async () => (await bench.row(sids["05"]!)).transcript.length > 0, "the agent being heard");
  expect((await bench.row(sids["05"]!)).ended_at).toBeNull();
  await bench.client.calls(sids["05"]!).update({ status: "completed" });
  const row = await ended("05");
  expect(row).toMatchObject({ status: "completed", ended_by: "api" });
  expect(row.transcript.filter((t) => t.who === "person")).toEqual([]);
});

test("06 is busy, 15 fails, and neither rings", async () => {
  expect(await ended("06")).toMatchObject({ status: "busy", rang: false, answered: false });
  expect(await ended("15")).toMatchObject({ status: "failed", rang: false, ended_by: "carrier" });
});

test("07 rings until the timeout", async () => {
  expect(await ended("07")).toMatchObject({ status: "no-answer", rang: true, answered: false, ended_by: "timeout" });
});

test("08 does not answer the first ring, answers the second and confirms", async () => {
  expect(await ended("08")).toMatchObject({ status: "no-answer", rang: true });
  sids["08"] = await bench.call("+15550000008");
  expect(await ended("08")).toMatchObject({ status: "completed", answered: true, ended_by: "relay_end" });
  expect(prompts("08").at(-1)).toMatch(/confirm|go ahead/i);
});

test("09 is a machine that speaks its greeting", async () => {
  const row = await until(async () => {
    const r = await bench.row(sids["09"]!);
    return r.transcript.some((t) => t.who === "person") && r;
  }, "the greeting");
  expect(row.transcript.find((t) => t.who === "person")?.text).toMatch(/leave a message after the tone/);
  await bench.client.calls(sids["09"]!).update({ status: "completed" });
});

test("10 is refused by the carrier", async () => {
  await expect(bench.call("+15550000010")).rejects.toMatchObject({ status: 400, code: 21211 });
});

test("11 asks who is calling, then confirms", async () => {
  expect((await ended("11")).ended_by).toBe("relay_end");
  expect(prompts("11")[0]).toMatch(/who is calling\?/i);
  expect(prompts("11")[1]).toMatch(/confirm|go ahead/i);
});

test("12 talks over the agent, then confirms", async () => {
  await Promise.all(
    Object.keys(sids)
      .filter((suffix) => suffix !== "05" && suffix !== "09")
      .map(ended),
  ); // a quiet machine keeps the compressed moment exact
  sids["12"] = await bench.call("+15550000012");
  const row = await ended("12");
  const cut = row.transcript.find((t) => t.interrupted)!;
  const interrupt = session("12").frames.find((f) => f.type === "interrupt")!;
  const whole = "Hello Ada, this is the shop calling about order 4711 for 20 euros. Shall we deliver it on Monday?";
  expect(interrupt["utteranceUntilInterrupt"]).toBe(cut.text);
  expect(whole.startsWith(cut.text)).toBe(true);
  expect(cut.text.length).toBeGreaterThan(0);
  expect(cut.text.length).toBeLessThan(whole.length);
  expect(row.ended_by).toBe("relay_end");
  expect(prompts("12").at(-1)).toMatch(/confirm|go ahead/i);
});

test("13 declines", async () => {
  expect((await ended("13")).ended_by).toBe("relay_end");
  expect(prompts("13")[0]).toMatch(/cancel|don't want/i);
});

test("14 presses 1", async () => {
  const row = await ended("14");
  expect(session("14").frames.filter((f) => f.type === "dtmf")).toEqual([{ type: "dtmf", digit: "1" }]);
  expect(row.transcript).toContainEqual(expect.objectContaining({ who: "person", text: "[key 1]", delivered: true }));
});

test("16 makes small talk twice, then confirms", async () => {
  expect((await ended("16")).ended_by).toBe("relay_end");
  expect(prompts("16")).toHaveLength(3);
  for (const small of prompts("16").slice(0, 2)) expect(small).not.toMatch(/confirm|cancel|yes|no\b|friday|tuesday/i);
  expect(prompts("16")[2]).toMatch(/confirm|go ahead/i);
});

test("17 drops in mid-talk: the socket breaks and nothing was decided", async () => {
  expect(await ended("17")).toMatchObject({ status: "completed", answered: true, ended_by: "carrier" });
  await until(() => session("17").closeCode !== null, "the socket's end");
  expect(session("17").closeCode).toBe(1006);
  expect(prompts("17")).toEqual([]);
});

test("any other number behaves like 01", async () => {
  const sid = await bench.call("+15550000099");
  expect(await bench.ended(sid)).toMatchObject({ ended_by: "relay_end", answered: true });
});

test("the same seed gives the same words, another seed others", async () => {
  const words = async (seed: string): Promise<string[]> => {
    const other = await startBench({ seed });
    other.agent.script = orderAgent;
    try {
      const placed = await Promise.all(
        ["02", "11", "13", "16", "01"].map((suffix) => other.call(`+155511000${suffix}`)),
      );
      const rows = await Promise.all(placed.map((sid) => other.ended(sid)));
      return rows.map((row) =>
        row.transcript
          .filter((t) => t.who === "person")
          .map((t) => t.text)
          .join(" / "),
      );
    } finally {
      await other.close();
    }
  };
  const [first, again, another] = await Promise.all([words("a"), words("a"), words("b")]);
  expect(again).toEqual(first);
  expect(another).not.toEqual(first);
});
