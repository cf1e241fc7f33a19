import { expect, test } from "@jest/globals";
import { Refusal } from "../../../../services/dialer/carriers/carrier-errors.ts";
import { fetchCall, findCalls } from "../../../../services/dialer/carriers/telnyx/lookup.ts";
import type { Rest } from "../../../../services/dialer/carriers/telnyx/rest.ts";

const ID = "v3:a";
const REF = "7a1c1a2e-0000-4000-8000-000000000001.2";
const state = Buffer.from(REF).toString("base64");
const [START, ANSWER, END] = ["2026-11-21T10:00:00.000Z", "2026-11-21T10:00:05.000Z", "2026-11-21T10:01:00.000Z"];
const raw = (event_type: string, occurred_at: string, payload: object = {}) => ({
  record_type: "event",
  event_type,
  id: event_type,
  occurred_at,
  payload: { call_control_id: ID, client_state: state, ...payload },
});
const entry = (metadata: unknown, name = "", event_timestamp = END) => ({
  name,
  type: "webhook",
  event_timestamp,
  metadata,
});

/** Telnyx as a table of answers by path; what was asked is noted. */
function telnyx(answers: Record<string, unknown>): { rest: Rest; asked: string[] } {
  const asked: string[] = [];
  const get: Rest["get"] = (path, query = {}) => {
    asked.push(`${path} ${JSON.stringify(query)}`);
    const answer =
      answers[query["page[number]"] === undefined ? path : `${path}?${query["page[number]"]}`] ?? answers[path];
    if (answer instanceof Error) return Promise.reject(answer);
    return Promise.resolve((answer ?? { data: [] }) as Record<string, unknown>);
  };
  const nothing = () => Promise.reject(new Error("nothing is changed here"));
  return {
    rest: { origin: "https://x", get, post: nothing, dial: nothing },
    asked,
  };
}
const shown = (more: object) => ({
  data: { call_control_id: ID, call_leg_id: "leg", is_alive: true, start_time: START, ...more },
});
const over = { is_alive: false, end_time: END };

test.each<[string, object, unknown[], string[], boolean]>([
  ["a call only just asked for", { is_alive: false, start_time: undefined }, [], [], true],
  ["a live one, of which nothing was told yet", {}, [], [], true],
  [
    "a live one that was answered",
    {},
    [entry({ event: raw("call.answered", ANSWER) }), entry(raw("call.initiated", START, { direction: "outgoing" }))],
    ["queued", "answered"],
    true,
  ],
  [
    "one that is over, explained",
    over,
    [entry({ a: { b: raw("call.hangup", END, { hangup_cause: "user_busy" }) } })],
    ["ended busy"],
    false,
  ],
  [
    "raw events that are texts",
    over,
    [entry({ body: JSON.stringify({ data: raw("call.hangup", END, { hangup_cause: "timeout" }) }) })],
    ["ended no_answer"],
    false,
  ],
  [
    "entries without raw events",
    over,
    [entry({}, "call.answered", ANSWER), entry({ hangup_cause: "normal_clearing" }, "call.hangup")],
    ["answered", "ended completed"],
    false,
  ],
  [
    "one that is over after an answer, unexplained",
    over,
    [entry(raw("call.answered", ANSWER))],
    ["answered", "ended completed"],
    false,
  ],
  ["one that is over, and nobody says how", over, [], ["ended unknown"], false],
  [
    "another leg's events among them",
    over,
    [entry(raw("call.hangup", END, { call_control_id: "v3:other", hangup_cause: "timeout" }))],
    ["ended unknown"],
    false,
  ],
  [
    "nonsense among them",
    over,
    [
      entry(null),
      entry("{"),
      entry(7),
      entry({ deep: { er: { and: { deep: { er: raw("call.answered", ANSWER) } } } } }),
    ],
    ["ended unknown"],
    false,
  ],
])("%s", async (_name, more, data, steps, live) => {
  const { rest } = telnyx({ "/calls/v3:a": shown(more), "/call_events": { data } });
  const call = await fetchCall(rest, ID);
  expect(call?.progress.map((p) => (p.type === "ended" ? `ended ${p.end}` : p.type))).toEqual(steps);
  expect([call?.call_id, call?.live]).toEqual([ID, live]);
});

test("the price is the last told; an unknown call is none, a fault stays a fault", async () => {
  const cost = (total_cost: string) => entry(raw("call.cost", END, { total_cost }));
  expect(
    (
      await fetchCall(
        telnyx({ "/calls/v3:a": shown(over), "/call_events": { data: [cost("0.01"), cost("0.02")] } }).rest,
        ID,
      )
    )?.cost,
  ).toEqual({ amount: 0.02, currency: "USD" });
  expect(await fetchCall(telnyx({ "/calls/v3:a": new Refusal(404, "10005", "none", null) }).rest, ID)).toBeNull();
  await expect(fetchCall(telnyx({ "/calls/v3:a": new Refusal(500, null, "x", null) }).rest, ID)).rejects.toMatchObject({
    status: 500,
  });
});

const sought = { call_ref: REF, to: "+14155550101", from: "+14155550999", since: new Date(START) };
test("a call is found by its reference among the events of its numbers; others there are not ours", async () => {
  const data = [
    entry(raw("call.initiated", START)),
    entry(
      raw("call.initiated", START, {
        call_control_id: "v3:b",
        client_state: Buffer.from(`${REF}1`).toString("base64"),
      }),
    ),
    entry(raw("call.initiated", START, { call_control_id: "v3:c", client_state: null })),
  ];
  const { rest, asked } = telnyx({ "/calls/v3:a": shown({}), "/call_events": { data } });
  expect((await findCalls(rest, "conn", sought)).map((c) => [c.call_id, c.live, c.created_at?.toISOString()])).toEqual([
    [ID, true, START],
  ]);
  expect(asked.some((a) => a.includes("active_calls"))).toBe(false);
});
test("else among the live ones, page by page; else nowhere", async () => {
  const pages = {
    "/connections/conn/active_calls?1": {
      data: [{ call_control_id: "v3:x", client_state: "" }],
      meta: { total_pages: 2 },
    },
    "/connections/conn/active_calls?2": {
      data: [{ call_control_id: ID, client_state: state }],
      meta: { total_pages: 2 },
    },
  };
  expect(
    (await findCalls(telnyx({ ...pages, "/calls/v3:a": shown({}) }).rest, "conn", sought)).map((c) => c.call_id),
  ).toEqual([ID]);
  expect(await findCalls(telnyx({}).rest, "conn", sought)).toEqual([]);
});
test("a call that is no longer shown is told by its events", async () => {
  const data = [entry(raw("call.initiated", START)), entry(raw("call.hangup", END, { hangup_cause: "timeout" }))];
  const [call] = await findCalls(
    telnyx({ "/calls/v3:a": new Refusal(404, null, "gone", null), "/call_events": { data } }).rest,
    "conn",
    sought,
  );
  expect(call).toMatchObject({
    call_id: ID,
    live: false,
    progress: [{ type: "queued" }, { type: "ended", end: "no_answer" }],
  });
});
