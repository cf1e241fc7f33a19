import OpenAI, { AuthenticationError } from "openai";
import type { ChatCompletionChunk, ChatCompletionCreateParamsNonStreaming } from "openai/resources/chat/completions";
import { startModels, type RequestSummary } from "../../../local/models/server.ts";
import { orderConfirmation } from "../../../local/tools/sample/order-confirmation.ts";
import { skippingClock } from "../../fixtures/skipping-clock.ts";
import { requestAt } from "./fixtures/chat-conversation.ts";

const DEADLINE_MS = 30_000;
const POLL_MS = 10;
const OPENING =
  "Hello Ada Lindqvist. Do you confirm order NW-10320 for 82.25 dollars with delivery on Monday, June 9? You can also press 1 to confirm or press 2 to reschedule.";

type Running = Awaited<ReturnType<typeof startModels>>;
let models: Running;
let slow: Running;
beforeAll(async () => {
  models = await startModels({ port: 0, key: "secret" });
  slow = await startModels({ port: 0, model: "one, two", tokenMs: 50, clock: skippingClock() });
});
afterAll(async () => {
  await models.close();
  await slow.close();
});

const client = (running: Running = models, apiKey = "secret"): OpenAI =>
  new OpenAI({ apiKey, baseURL: running.url, maxRetries: 0 });
const order = (...words: string[]): ChatCompletionCreateParamsNonStreaming => {
  const history =
    words.length === 0
      ? []
      : [{ role: "assistant", content: OPENING }, ...words.map((content) => ({ role: "user", content }))];
  return requestAt(orderConfirmation, "ask_confirmation", history) as unknown as ChatCompletionCreateParamsNonStreaming;
};
const control = (running: Running, path: string): string => running.url.replace(/\/v1$/, path);
async function requests(running: Running): Promise<RequestSummary[]> {
  const body = (await (await fetch(control(running, "/requests"))).json()) as { requests: RequestSummary[] };
  return body.requests;
}
async function until(condition: () => Promise<boolean>): Promise<void> {
  const end = Date.now() + DEADLINE_MS;
  while (!(await condition())) {
    if (Date.now() > end) throw new Error("the condition did not come true in time");
    await new Promise((resolve) => setTimeout(resolve, POLL_MS));
  }
}
const raw = async (body: string, key = "secret"): Promise<Response> =>
  fetch(`${models.url}/chat/completions`, {
    method: "POST",
    headers: { authorization: `Bearer ${key}`, "content-type": "application/json" },
    body,
  });

describe("the openai package on the simulator", () => {
  test("speaks the task in one piece", async () => {
    const answer = await client().chat.completions.create(order());
    expect(answer).toMatchObject({
      object: "chat.completion",
      model: "callagent-sim",
      choices: [{ index: 0, finish_reason: "stop", message: { role: "assistant", content: OPENING } }],
    });
    expect(answer.usage!.total_tokens).toBe(answer.usage!.prompt_tokens + answer.usage!.completion_tokens);
  });

  test("streams the same words one by one, with usage at the end", async () => {
    const chunks: ChatCompletionChunk[] = [];
    for await (const chunk of await client().chat.completions.create({
      ...order(),
      stream: true,
      stream_options: { include_usage: true },
    }))
      chunks.push(chunk);
    const pieces = chunks.flatMap(({ choices }) => choices[0]?.delta.content ?? []).filter((piece) => piece !== "");
    expect(pieces.join("")).toBe(OPENING);
    expect(pieces.length).toBe(OPENING.split(" ").length);
    expect(chunks[0]!.choices[0]!.delta.role).toBe("assistant");
    expect(chunks.flatMap(({ choices }) => choices[0]?.finish_reason ?? [])).toEqual(["stop"]);
    expect(chunks.at(-1)).toMatchObject({ choices: [], usage: { completion_tokens: Math.ceil(OPENING.length / 4) } });
    expect(chunks.slice(0, -1).every(({ usage }) => usage === null)).toBe(true);
  });

  test("calls a tool, in one piece and in a stream", async () => {
    const call = { type: "function", function: { name: "reschedule_delivery", arguments: '{"day":"Friday"}' } };
    const whole = await client().chat.completions.create(order("Friday would be better."));
    expect(whole.choices[0]).toMatchObject({
      finish_reason: "tool_calls",
      message: { content: null, tool_calls: [call] },
    });

    const pieces: string[] = [];
    const stream = client().chat.completions.stream({ ...order("Friday would be better."), stream: true });
    stream.on("chunk", (chunk) =>
      pieces.push(...(chunk.choices[0]?.delta.tool_calls?.flatMap((one) => one.function?.arguments ?? []) ?? [])),
    );
    const final = await stream.finalChatCompletion();
    expect(final.choices[0]).toMatchObject({ finish_reason: "tool_calls", message: { tool_calls: [call] } });
    expect(pieces.filter((piece) => piece !== "").length).toBeGreaterThan(1);
    expect(final.choices[0]!.message.tool_calls![0]!.id).toMatch(/^call_[0-9a-f]{24}$/);
  });

  test("a tool helper of the package runs a talk to its end", async () => {
    const asked: string[] = [];
    const runner = client().chat.completions.runTools({
      model: "callagent-sim",
      messages: [
        { role: "system", content: "Ask for the day that suits. Thank them once it is set." },
        { role: "user", content: "Friday please" },
      ],
      tools: [
        {
          type: "function",
          function: {
            name: "set_day",
            description: "Sets the day.",
            parse: JSON.parse,
            function: (given: { day: string }) => {
              asked.push(given.day);
              return "ok";
            },
            parameters: { type: "object", properties: { day: { type: "string" } }, required: ["day"] },
          },
        },
      ],
    });
    expect(await runner.finalContent()).toContain("Thank you.");
    expect(asked).toEqual(["Friday"]);
  });

  test("the same request gives the same bytes", async () => {
    const body = JSON.stringify({ ...order("Who is calling?"), stream: true, stream_options: { include_usage: true } });
    const [first, second] = [await (await raw(body)).text(), await (await raw(body)).text()];
    expect(second).toBe(first);
    expect(first.endsWith("data: [DONE]\n\n")).toBe(true);
  });

  test("stops at the token limit and at stop words", async () => {
    const short = await client().chat.completions.create({ ...order(), max_completion_tokens: 3 });
    expect(short.choices[0]).toMatchObject({ finish_reason: "length", message: { content: "Hello Ada Li" } });
    const stopped = await client().chat.completions.create({ ...order(), stop: ["Do you"] });
    expect(stopped.choices[0]).toMatchObject({ finish_reason: "stop", message: { content: "Hello Ada Lindqvist. " } });
  });

  test("lists its models and takes no others", async () => {
    expect((await client(slow).models.list()).data.map(({ id }) => id)).toEqual(["one", "two"]);
    expect(await client(slow).models.retrieve("two")).toMatchObject({ id: "two", object: "model" });
    await expect(client(slow).chat.completions.create(order())).rejects.toMatchObject({
      status: 404,
      code: "model_not_found",
      param: "model",
    });
  });

  test("an abort ends the generation", async () => {
    const stream = await client(slow).chat.completions.create({ ...order(), model: "one", stream: true });
    for await (const chunk of stream) if ((chunk.choices[0]?.delta.content ?? "") !== "") break;
    await until(async () => (await requests(slow)).at(-1)?.end === "aborted");
  });
});

describe("refusals, in OpenAI's shape", () => {
  test.each([
    ["wrong key", "wrong"],
    ["empty key", ""],
  ])("%s", async (_name, key) => {
    const response = await raw(JSON.stringify(order()), key);
    expect(response.status).toBe(401);
    expect(await response.json()).toEqual({
      error: { message: expect.any(String), type: "invalid_request_error", param: null, code: "invalid_api_key" },
    });
  });
  test("a wrong key is an AuthenticationError of the package; without a set key any will do", async () => {
    await expect(client(models, "wrong").models.list()).rejects.toBeInstanceOf(AuthenticationError);
    await expect(client(slow, "anything").models.list()).resolves.toBeDefined();
  });

  const message = { role: "user", content: "hi" };
  const tool = { type: "function", function: { name: "go" } };
  test.each<[string, unknown, string | null]>([
    ["no model", { messages: [message] }, "model"],
    ["no messages", { model: "callagent-sim" }, "messages"],
    ["empty messages", { model: "callagent-sim", messages: [] }, "messages"],
    ["unknown role", { model: "callagent-sim", messages: [{ role: "robot", content: "x" }] }, "messages[0].role"],
    [
      "content of a wrong type",
      { model: "callagent-sim", messages: [{ role: "user", content: 7 }] },
      "messages[0].content",
    ],
    ["no content", { model: "callagent-sim", messages: [{ role: "user" }] }, "messages[0].content"],
    [
      "picture",
      {
        model: "callagent-sim",
        messages: [{ role: "user", content: [{ type: "image_url", image_url: { url: "x" } }] }],
      },
      "messages[0].content[0].type",
    ],
    [
      "orphan tool result",
      { model: "callagent-sim", messages: [message, { role: "tool", tool_call_id: "c", content: "x" }] },
      "messages[1].role",
    ],
    [
      "unanswered call",
      {
        model: "callagent-sim",
        messages: [
          { role: "assistant", tool_calls: [{ id: "c", type: "function", function: { name: "go", arguments: "{}" } }] },
          message,
        ],
      },
      "messages[1].role",
    ],
    [
      "nameless tool",
      { model: "callagent-sim", messages: [message], tools: [{ type: "function", function: {} }] },
      "tools[0].function.name",
    ],
    ["tool_choice without tools", { model: "callagent-sim", messages: [message], tool_choice: "auto" }, "tool_choice"],
    [
      "tool_choice not in tools",
      {
        model: "callagent-sim",
        messages: [message],
        tools: [tool],
        tool_choice: { type: "function", function: { name: "stop" } },
      },
      "tool_choice",
    ],
    ["stream of a wrong type", { model: "callagent-sim", messages: [message], stream: "yes" }, "stream"],
    [
      "stream_options without stream",
      { model: "callagent-sim", messages: [message], stream_options: { include_usage: true } },
      "stream_options",
    ],
    ["no tokens", { model: "callagent-sim", messages: [message], max_tokens: 0 }, "max_tokens"],
    ["several choices", { model: "callagent-sim", messages: [message], n: 2 }, "n"],
    [
      "JSON mode",
      { model: "callagent-sim", messages: [message], response_format: { type: "json_object" } },
      "response_format",
    ],
    ["not an object", [1], null],
  ])("400: %s", async (_name, body, param) => {
    const response = await raw(JSON.stringify(body));
    expect([response.status, ((await response.json()) as { error: { param: string | null } }).error.param]).toEqual([
      400,
      param,
    ]);
  });
  test("400: not JSON; 404: unknown path; 400 and 413: too long", async () => {
    expect((await raw("{")).status).toBe(400);
    expect((await fetch(`${models.url}/completions`, { headers: { authorization: "Bearer secret" } })).status).toBe(
      404,
    );
    const long = (characters: number): string =>
      JSON.stringify({ model: "callagent-sim", messages: [{ role: "user", content: "x".repeat(characters) }] });
    expect(await (await raw(long(600_000))).json()).toMatchObject({
      error: { code: "context_length_exceeded", param: "messages" },
    });
    expect((await raw(long(4_200_000))).status).toBe(413);
  });
});
