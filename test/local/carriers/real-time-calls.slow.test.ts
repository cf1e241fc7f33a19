import { execFile } from "node:child_process";
import { afterAll, beforeAll, expect, test } from "@jest/globals";
import { systemClock } from "../../../shared/time/clock.ts";
import { orderAgent, startBench, untilOn, type Bench } from "./fixtures/agent.ts";
import { startStreamAgent, TWILIO, type StreamAgent } from "./fixtures/stream-agent.ts";

/** The other tests of the carriers skip the time in which nothing happens: here it passes, as where the carrier is a program. */
const until = untilOn(systemClock);
/** The shortest that the talk by sound can take, ms: half of its words are longer. */
const LEAST_SOUND_MS = 3_000;
const SCALE = 100;

let bench: Bench;
let agent: StreamAgent;
beforeAll(async () => {
  bench = await startBench({ timeScale: SCALE, clock: systemClock });
  agent = await startStreamAgent(TWILIO, systemClock);
});
afterAll(async () => {
  await bench.close();
  await agent.close();
});

test("in real time an order is confirmed by sound", async () => {
  agent.onStart = (session) => {
    session.speak("Hello Ada, shall we deliver your order on Monday?", "hello");
  };
  agent.onWords = (session) => {
    session.speak("Thank you, goodbye.", "bye");
  };
  const twiml = `<Response><Connect><Stream url="${agent.ws}/media/twilio/t0"/></Connect></Response>`;
  const began = performance.now();
  const sid = await bench.call("+15554440001", { twiml });
  const session = await agent.session((s) => s.messages.some((m) => m.event === "start"));
  const row = await bench.ended(sid);
  expect(row.ended_by).toBe("callee");
  expect(row.transcript.map(({ who }) => who)).toEqual(["agent", "person", "agent"]);
  expect(session.words.join(" ")).toBe(row.transcript[1]?.text);
  expect(performance.now() - began).toBeGreaterThan(LEAST_SOUND_MS);
});

test("in compressed real time an order is confirmed by text", async () => {
  bench.agent.script = orderAgent;
  const began = performance.now();
  const row = await bench.ended(await bench.call("+15554440001"));
  expect(row.ended_by).toBe("relay_end");
  const spoken = row.transcript.reduce((ms, line) => ms + (line.text.length / 15) * 1000, 0);
  expect(performance.now() - began).toBeGreaterThan(spoken / SCALE);
});

test("the program announces its address, and stops when told", async () => {
  const child = execFile(process.execPath, ["local/carriers/main.ts", "--port", "0", "--time-scale", "20"]);
  let out = "";
  child.stdout?.on("data", (chunk: string) => {
    out += chunk;
  });
  const line = await until(() => out.includes("\n") && out.split("\n")[0]!, "the ready line");
  expect(JSON.parse(line)).toMatchObject({ event: "ready", url: expect.stringMatching(/^http:\/\/127\.0\.0\.1:\d+$/) });
  const exit = new Promise((resolve) => child.once("exit", resolve));
  child.kill("SIGTERM");
  expect(await exit).toBe(0);
});
