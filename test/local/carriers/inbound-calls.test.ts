import { afterAll, afterEach, beforeAll, expect, test } from "@jest/globals";
import { orderAgent, startBench, until, type Bench } from "./fixtures/agent.ts";

const OURS = "+15005550100";
const PERSON = "+15553330001";
const WITHHELD = "+266696687";

let bench: Bench;
beforeAll(async () => {
  bench = await startBench();
  bench.agent.script = orderAgent;
});
afterEach(() => {
  bench.agent.reply = () => ({ status: 204 });
});
afterAll(() => bench.close());

const post = (path: string, body: object): Promise<Response> =>
  fetch(`${bench.carrier.url}${path}`, { method: "POST", body: JSON.stringify(body) });
const toUs = (): Promise<Response> =>
  post("/inbound-address", {
    carrier: "twilio",
    url: `${bench.agent.http}/voice`,
    status_url: `${bench.agent.http}/status`,
  });

async function ring(more: object = {}): Promise<string> {
  const answer = await post("/inbound", { carrier: "twilio", from: PERSON, to: OURS, ...more });
  expect(answer.status).toBe(201);
  return ((await answer.json()) as { sid: string }).sid;
}

const answers = (twiml: string): void => {
  bench.agent.reply = (path) =>
    path.startsWith("/voice") ? { status: 200, body: `<Response>${twiml}</Response>` } : { status: 204 };
};
const voice = (sid: string) =>
  until(() => bench.agent.posted.find((p) => p.path === "/voice" && p.form["CallSid"] === sid), "the voice webhook");

test.each([
  ["an unknown carrier", "/inbound", { carrier: "nobody", from: PERSON, to: OURS }, /carrier must be one of/],
  ["a caller that is no number", "/inbound", { carrier: "twilio", from: "me", to: OURS }, /^from must be/],
  ["a number of ours that is none", "/inbound", { carrier: "twilio", from: PERSON, to: "12" }, /^to must be/],
  ["an account without a voice URL", "/inbound", { carrier: "twilio", from: PERSON, to: OURS }, /no voice URL/],
  ["an unknown account", "/inbound", { carrier: "twilio", account: "AC1", from: PERSON, to: OURS }, /no such account/],
  ["an address that is none", "/inbound-address", { carrier: "twilio", url: "voice" }, /^url must be/],
])("%s is refused", async (_, path, body, message) => {
  const answer = await post(path, body);
  expect(answer.status).toBe(400);
  expect(((await answer.json()) as { message: string }).message).toMatch(message);
});

test("a person calls, is connected to the relay, talks and is gone; the ledger has it as inbound", async () => {
  expect((await toUs()).status).toBe(204);
  answers(
    `<Connect action="${bench.agent.http}/action"><ConversationRelay url="${bench.agent.ws}/relay/in"/></Connect>`,
  );
  const sid = await ring();
  expect((await voice(sid)).form).toMatchObject({
    CallSid: sid,
    From: PERSON,
    To: OURS,
    Direction: "inbound",
    CallStatus: "ringing",
  });
  const row = await bench.ended(sid);
  expect(row).toMatchObject({
    direction: "inbound",
    from: PERSON,
    to: OURS,
    answered: true,
    rings: 0,
    status: "completed",
    ended_by: "relay_end",
  });
  expect(row.transcript.map((t) => t.who)).toContain("person");
  expect(bench.agent.sessions.at(-1)?.setup).toMatchObject({ direction: "inbound", from: PERSON, to: OURS });
  const told = await until(
    () => bench.agent.posted.find((p) => p.path === "/status" && p.form["CallSid"] === sid),
    "the status callback",
  );
  expect(told.form).toMatchObject({ CallStatus: "completed", Direction: "inbound" });
});

test("a rejected call is never answered", async () => {
  await toUs();
  answers("<Reject/>");
  expect(await bench.ended(await ring())).toMatchObject({ answered: false, status: "no-answer", direction: "inbound" });
});

test("a message is heard before the hang-up", async () => {
  await toUs();
  answers("<Say>We are closed.</Say><Hangup/>");
  const row = await bench.ended(await ring());
  expect(row).toMatchObject({ answered: true, status: "completed" });
  expect(row.transcript.filter((t) => t.who === "agent").map((t) => t.text)).toEqual(["We are closed."]);
});

test("a withheld number is not shown to the service, and stays in the ledger", async () => {
  await toUs();
  answers("<Reject/>");
  const sid = await ring({ withheld: true });
  expect((await voice(sid)).form["From"]).toBe(WITHHELD);
  expect((await bench.ended(sid)).from).toBe(PERSON);
});

test("a service that fails leaves the caller without an answer, and the ledger says why", async () => {
  await toUs();
  bench.agent.reply = () => ({ status: 500 });
  const sid = await ring();
  expect(await bench.ended(sid)).toMatchObject({ answered: false, status: "failed" });
  expect((await bench.entries("warning", sid)).map((w) => String(w["message"]))).toEqual([
    expect.stringContaining("11200"),
  ]);
});
