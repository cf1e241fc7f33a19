import { createServer } from "node:http";
import { afterEach, describe, expect, test } from "@jest/globals";
import { chatModel } from "../../../services/conversation/providers/llm/chat-model.ts";
import { openAiChat } from "../../../services/conversation/providers/llm/openai-chat.ts";
import { callsInText, withoutTextCalls } from "../../../services/conversation/providers/llm/text-calls.ts";
import { virtualClock } from "../../fixtures/virtual-clock.ts";

const NAMES = ["confirm_order", "set_day"];
const tools = NAMES.map((name) => ({
  type: "function" as const,
  function: { name, description: "d", parameters: { type: "object", properties: {} } },
}));
let close = async (): Promise<void> => undefined;
afterEach(() => close());

/** Asks a server that answers with this body. */
async function ask(type: string, body: string) {
  const server = createServer((_request, response) => void response.writeHead(200, { "content-type": type }).end(body));
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  close = () => new Promise((resolve) => server.close(() => resolve()));
  const address = server.address();
  const base_url = `http://127.0.0.1:${typeof address === "object" && address ? address.port : 0}/v1`;
  const heard: string[] = [];
  const model = chatModel(openAiChat({ base_url, key: "k", model: "m" }), virtualClock());
  const answer = await model.answer(
    { messages: [{ role: "user", content: "Yes." }], tools },
    { signal: new AbortController().signal, onText: (text) => heard.push(text) },
  );
  server.closeAllConnections();
  const calls = answer.calls.map((call) => [call.name, JSON.parse(call.arguments) as unknown]);
  return { heard: heard.join(""), calls, cut: answer.cut };
}
const streamed = (deltas: readonly object[], finish_reason = "stop"): string =>
  [...deltas.map((delta) => ({ delta })), { delta: {}, finish_reason }]
    .map(
      (choice) =>
        `data: ${JSON.stringify({ object: "chat.completion.chunk", choices: [{ index: 0, ...choice }] })}\n\n`,
    )
    .join("") + "data: [DONE]\n\n";
const SSE = "text/event-stream";
/** Of a server that streams a text letter by letter. */
const inPieces = (text: string, size = 1): string =>
  streamed((text.match(new RegExp(`[^]{1,${size}}`, "gu")) ?? []).map((content) => ({ content })));

describe("an answer", () => {
  test.each([
    ["length", "ANSWER_CUT"],
    ["content_filter", "ANSWER_FILTERED"],
    ["stop", undefined],
  ])("that ends by %s says so", async (finish, cut) =>
    expect(await ask(SSE, streamed([{ content: "Your order is" }], finish))).toEqual({
      heard: "Your order is",
      calls: [],
      cut,
    }),
  );
  test("in one piece, from a server that ignores `stream`, is one", async () => {
    const message = { role: "assistant", content: "Fine, Ada." };
    const body = JSON.stringify({ object: "chat.completion", choices: [{ message, finish_reason: "length" }] });
    expect(await ask("application/json; charset=utf-8", body)).toEqual({
      heard: "Fine, Ada.",
      calls: [],
      cut: "ANSWER_CUT",
    });
  });
  test("that is no answer fails", async () =>
    expect(ask("application/json", '{"error":{"message":"no"}}')).rejects.toMatchObject({ code: "MODEL_ERROR" }));
  test("whose arguments are an object is understood", async () => {
    const call = { index: 0, id: "c", type: "function", function: { name: "set_day", arguments: { day: "Friday" } } };
    expect((await ask(SSE, streamed([{ tool_calls: [call] }]))).calls).toEqual([["set_day", { day: "Friday" }]]);
  });
});

describe("a call that is written as text is one, and is not said", () => {
  const friday = ["set_day", { day: "Friday" }];
  const nothing = ["confirm_order", {}];
  test.each<[string, string, unknown[][]]>([
    ["JSON", '{"name": "set_day", "arguments": {"day": "Friday"}}', [friday]],
    ["JSON with parameters (Llama)", '<|python_tag|>{"name": "set_day", "parameters": {"day": "Friday"}}', [friday]],
    ["arguments as text", '{"name":"set_day","arguments":"{\\"day\\":\\"Friday\\"}"}', [friday]],
    ["Hermes, Qwen", '<tool_call>\n{"name": "set_day", "arguments": {"day": "Friday"}}\n</tool_call>', [friday]],
    [
      "two of them",
      '<tool_call>{"name":"confirm_order","arguments":{}}</tool_call><tool_call>{"name":"set_day","arguments":{"day":"Friday"}}</tool_call>',
      [nothing, friday],
    ],
    ["fenced", '```json\n{"name": "set_day", "arguments": {"day": "Friday"}}\n```', [friday]],
    ["Mistral", '[TOOL_CALLS][{"name": "set_day", "arguments": {"day": "Friday"}}]', [friday]],
    ["Mistral's newer form", '[TOOL_CALLS]set_day[ARGS]{"day": "Friday"}', [friday]],
    ["a tag that names it", '<function=set_day>{"day": "Friday"}</function>', [friday]],
    [
      "OpenAI's shape",
      '{"tool_calls":[{"type":"function","function":{"name":"set_day","arguments":{"day":"Friday"}}}]}',
      [friday],
    ],
    ["Python", 'set_day(day="Friday")', [friday]],
    ["Python without arguments", "confirm_order()", [nothing]],
    ["its name", "confirm_order", [nothing]],
  ])("%s", async (_form, text, calls) => {
    for (const size of [1, 7, 1000])
      expect(await ask(SSE, inPieces(text, size))).toEqual({ heard: "", calls, cut: undefined });
  });
  test("behind words, which are said", async () =>
    expect(await ask(SSE, inPieces('Of course. {"name": "confirm_order", "arguments": {}}', 3))).toMatchObject({
      heard: "Of course. ",
      calls: [nothing],
    }));
  test("that nobody can read is a call of no function", async () => {
    for (const text of ['Here is the JSON: {"day', "```json\n{oops", "<tool_call>what?", '[{"a": 1}]'])
      expect((await ask(SSE, inPieces(text, 2))).calls).toEqual([["unreadable_call", {}]]);
  });
  test("is taken once where the server has read it too", async () => {
    const call = { index: 0, id: "c", type: "function", function: { name: "confirm_order", arguments: "{}" } };
    const content = '{"name": "confirm_order", "arguments": {}}';
    expect(await ask(SSE, streamed([{ content }, { tool_calls: [call] }]))).toMatchObject({
      heard: "",
      calls: [nothing],
    });
  });
});

test.each([
  "Press [1] for yes.",
  "Set your day (any day) now.",
  "I will set_day for you.",
  "con",
  "confirm",
  "Is that {your} wish?",
  "  Hello",
])("%j is speech", (text) => {
  for (const size of [1, 3, 100]) {
    const written = withoutTextCalls(NAMES);
    const said = (text.match(new RegExp(`[^]{1,${size}}`, "gu")) ?? []).map((piece) => written.push(piece)).join("");
    const end = written.end();
    expect([said + end.text, end.calls]).toEqual([text, []]);
  }
});

test("calls are found in any text within its length", () => {
  expect(callsInText("{".repeat(4000), NAMES)).toEqual([{ name: "unreadable_call", arguments: "{}" }]);
  expect(callsInText(`${'{"a":'.repeat(700)}1${"}".repeat(700)}`, NAMES)).toHaveLength(1);
});
