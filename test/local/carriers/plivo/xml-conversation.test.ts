import { afterAll, beforeEach, beforeAll, expect, test } from "@jest/globals";
import { clock, until } from "../fixtures/agent.ts";
import { startPlivoBench, type PlivoBench, type PlivoPosted } from "../fixtures/plivo-agent.ts";

let bench: PlivoBench;
/** Documents by path without query; the last one of a list is given again and again. */
let documents: Record<string, string[]> = {};
beforeAll(async () => {
  bench = await startPlivoBench({ timeScale: 20 });
}); // slow enough that a busy machine is no late document
beforeEach(() => {
  bench.reply = ({ path }) => {
    const list = documents[path.split("?")[0]?.split("/")[1] ?? ""] ?? [];
    const inside = list.length > 1 ? list.shift() : list[0];
    return inside === undefined
      ? { status: 200, body: "" }
      : { status: 200, body: inside.startsWith("<?") || inside === "" ? inside : `<Response>${inside}</Response>` };
  };
});
afterAll(() => bench.close());

const input = (inside: string, more = ""): string =>
  `<GetInput action="${bench.http}/turn" inputType="dtmf speech" executionTimeout="5" ${more}>${inside}</GetInput>`;
const QUESTION = "<Speak>Hello Ada, may I confirm your order for Monday?</Speak>";
const BYE = "<Speak>Thank you, it is confirmed. Goodbye.</Speak><Hangup/>";
const turns = (request: string): PlivoPosted[] => bench.of(request, "/turn");
const heard = async (request: string): Promise<string[]> =>
  (await bench.entries("heard", (await bench.row(request)).sid)).map((e) => String(e["text"] || e["media"]));
const cause = async (request: string): Promise<string | undefined> =>
  (await bench.hangup(request)).form["HangupCauseName"];

test("a question, an answer, goodbye: what is said is passed on and the document hangs up", async () => {
  documents = { answer: [input(QUESTION)], turn: [BYE] };
  const request = await bench.call("+15556660001");
  expect(await cause(request)).toBe("Normal Hangup");
  expect(turns(request)).toHaveLength(1);
  expect(turns(request)[0]?.form).toMatchObject({
    Event: "GetInput",
    InputType: "speech",
    Speech: expect.stringMatching(/\w/),
    Digits: "",
    CallStatus: "in-progress",
  });
  expect(await heard(request)).toEqual([
    "Hello Ada, may I confirm your order for Monday?",
    "Thank you, it is confirmed. Goodbye.",
  ]);
  expect((await bench.row(request)).ended_by).toBe("api");
});

test("keys end by their number, by the finishing key, or by a pause", async () => {
  documents = { answer: [input(QUESTION, 'numDigits="1"')], turn: [BYE] };
  const request = await bench.call("+15556660014");
  await bench.hangup(request);
  expect(turns(request)[0]?.form).toMatchObject({ InputType: "dtmf", Digits: "1", Speech: "" });
  documents = { answer: [input(QUESTION, 'digitEndTimeout="2"')], turn: [BYE] };
  const other = await bench.call("+15556670014");
  await bench.hangup(other);
  expect(turns(other)[0]?.form["Digits"]).toBe("1");
});

test("who interrupts cuts what may be cut, and is heard", async () => {
  documents = {
    answer: [
      input(
        "<Speak>This is a rather long explanation of all that has been ordered, and it goes on for quite a while, may I confirm it?</Speak>",
      ),
    ],
    turn: [BYE],
  };
  const request = await bench.call("+15556660012");
  await bench.hangup(request);
  const row = await bench.row(request);
  expect(row.transcript.find((l) => l.who === "agent")).toMatchObject({ interrupted: true });
  expect(turns(request)).toHaveLength(1);
  expect(row.transcript.find((l) => l.who === "person")).toMatchObject({ delivered: true });
});

test("what stands before the input is not cut, and nobody listens to it", async () => {
  documents = {
    answer: [
      `<Speak>This is a rather long legal notice which must be heard to its end by everybody, so please be patient, may I confirm?</Speak>${input("")}`,
    ],
    turn: [BYE],
  };
  const request = await bench.call("+15556670012");
  await bench.hangup(request);
  expect(
    (await bench.row(request)).transcript.filter((l) => l.who === "agent").every((l) => l.interrupted === false),
  ).toBe(true);
});

test("without input the next element follows, here a redirect", async () => {
  documents = { answer: [`${input("")}<Redirect>${bench.http}/again?turn=2</Redirect>`], again: [BYE] };
  const request = await bench.call("+15556660005");
  expect(await cause(request)).toBe("Normal Hangup");
  expect(bench.of(request, "/again").map((p) => [p.path, p.form["Event"]])).toEqual([["/again?turn=2", "Redirect"]]);
  expect(turns(request)).toEqual([]);
});

test("a message waits for a machine's beep", async () => {
  documents = { answer: ['<Wait length="30" beep="true"/><Speak>Please call us back.</Speak><Hangup/>'] };
  const started = clock.monotonicMs();
  const request = await bench.call("+15556660009");
  await bench.hangup(request);
  expect(clock.monotonicMs() - started).toBeLessThan(25_000); // the patience is real seconds, the beep is not
  const row = await bench.row(request);
  const [greeting, message] = ["person", "agent"].map((who) => row.transcript.findIndex((l) => l.who === who));
  expect(greeting).toBeLessThan(message ?? -1);
  expect(row.transcript.at(-1)).toMatchObject({ who: "agent", text: "Please call us back.", interrupted: false });
});

test("a wait ends with silence where that is asked for", async () => {
  documents = { answer: ['<Wait length="60" silence="true" minSilence="1000"/><Speak>Now.</Speak><Hangup/>'] };
  const request = await bench.call("+15556660005");
  await bench.hangup(request);
  expect(await heard(request)).toEqual(["Now."]);
});

test("a transfer takes the call out of its document; keys are sent to the person", async () => {
  documents = {
    answer: [input(QUESTION)],
    elsewhere: ['<Dial callerId="15005550006"><Number>15557770001</Number></Dial>'],
  };
  const request = await bench.call("+15556680005");
  const leg = (await until(() => bench.of(request, "/answer")[0], "the answer")).form["CallUUID"] ?? "";
  await bench.calls.sendDigits(leg, "12#");
  await until(async () => ((await heard(request)).includes("keys:12#") ? true : undefined), "the keys to be heard");
  await bench.calls.transfer(leg, { legs: "aleg", alegUrl: `${bench.http}/elsewhere` });
  await bench.hangup(request);
  expect((await bench.entries("dial", leg)).map((e) => [e["number"], e["status"]])).toEqual([
    ["+15557770001", "completed"],
  ]);
  expect(bench.of(request, "/elsewhere")).toHaveLength(1);
  expect(await heard(request)).toContain("keys:12#");
});

test("a scheduled end cuts the call", async () => {
  documents = { answer: ['<Hangup schedule="1"/><Wait length="600"/>'] };
  const request = await bench.call("+15556660005");
  expect((await bench.hangup(request)).form).toMatchObject({
    HangupCauseCode: "6000",
    HangupCauseName: "Scheduled Hangup",
  });
});

test.each<[string, string, string]>([
  ["no XML", '<?xml version="1.0"?><Response>', "Invalid Answer XML"],
  ["another root", '<?xml version="1.0"?><Document/>', "Invalid Answer XML"],
  ["an element it does not know", "<Say>Hi</Say>", "Invalid Answer XML"],
  ["a timeout out of bounds", '<GetInput action="http://x.example" executionTimeout="61"/>', "Invalid Answer XML"],
  ["a voice it does not know", '<Speak voice="alice">Hi</Speak>', "Invalid Answer XML"],
  ["an empty Speak", "<Speak> </Speak>", "Invalid Answer XML"],
  ["nothing", "", "End Of XML Instructions"],
  ["an end", "<Speak>Bye.</Speak>", "End Of XML Instructions"],
])("%s ends the call as %s: %s", async (_what, answer, expected) => {
  documents = { answer: [answer] };
  expect(await cause(await bench.call("+15556660005"))).toBe(expected);
});
test("an answer URL that fails ends the call; an attribute it does not know is a warning", async () => {
  bench.reply = ({ path }) => (path.startsWith("/answer") ? { status: 404 } : { status: 200 });
  expect(await cause(await bench.call("+15556660005"))).toBe("Error Reaching Answer URL");
  bench.reply = () => ({ status: 200, body: '<Response><Speak pitch="high">Bye.</Speak></Response>' });
  const request = await bench.call("+15556660005");
  await bench.hangup(request);
  expect((await bench.entries("warning", (await bench.row(request)).sid)).map((e) => e["message"])).toEqual([
    "attribute pitch is not allowed in <Speak>; it is ignored",
  ]);
});

test("a person calls one of the numbers: the application's URL decides", async () => {
  await bench.post("/inbound-address", {
    carrier: "plivo",
    url: `${bench.http}/inbound`,
    status_url: `${bench.http}/gone`,
  });
  const call = async (inside: string, more: object = {}): Promise<{ sid: string; gone: PlivoPosted }> => {
    documents = { inbound: [inside], turn: [BYE] };
    const { sid } = (await bench.post("/inbound", {
      carrier: "plivo",
      from: "+15558880001",
      to: "+15005550006",
      ...more,
    })) as { sid: string };
    return {
      sid,
      gone: await until(() => bench.posted.find((p) => p.path === "/gone" && p.form["CallUUID"] === sid), "the end"),
    };
  };
  const taken = await call(input(QUESTION));
  const asked = bench.posted.find((p) => p.path === "/inbound" && p.form["CallUUID"] === taken.sid);
  expect(asked?.form).toMatchObject({
    Direction: "inbound",
    From: "15558880001",
    To: "15005550006",
    CallStatus: "ringing",
    Event: "StartApp",
  });
  expect(asked?.form).not.toHaveProperty("RequestUUID");
  expect(taken.gone.form).toMatchObject({ Direction: "inbound", CallStatus: "completed", Event: "Hangup" });
  const rejected = await call('<Hangup reason="rejected"/>', { withheld: true });
  expect(rejected.gone.form).toMatchObject({
    CallStatus: "completed",
    HangupCauseCode: "3020",
    AnswerTime: "",
    From: "anonymous",
  });
  expect(await bench.entries("answer", rejected.sid)).toEqual([]);
  await expect(
    bench.post("/inbound", {
      carrier: "plivo",
      account: "MANOBODY000000000000",
      from: "+15558880001",
      to: "+15005550006",
    }),
  ).rejects.toThrow("400");
});
