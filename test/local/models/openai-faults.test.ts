import OpenAI, { APIConnectionError, RateLimitError } from "openai";
import type { ChatCompletionCreateParamsNonStreaming } from "openai/resources/chat/completions";
import { startModels, type RequestSummary } from "../../../local/models/server.ts";
import { orderConfirmation } from "../../../local/tools/sample/order-confirmation.ts";
import { requestAt } from "./fixtures/chat-conversation.ts";

const DEADLINE_MS = 30_000;
const POLL_MS = 10;
const OPENING =
  "Hello Ada Lindqvist. Do you confirm order NW-10320 for 82.25 dollars with delivery on Monday, June 9? You can also press 1 to confirm or press 2 to reschedule.";

type Running = Awaited<ReturnType<typeof startModels>>;
let models: Running;
beforeAll(async () => {
  models = await startModels({ port: 0, key: "secret" });
});
afterAll(async () => {
  await models.close();
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
async function orderFault(kind: string, times = 1): Promise<void> {
  const response = await fetch(control(models, "/faults"), { method: "POST", body: JSON.stringify({ kind, times }) });
  expect(response.status).toBe(200);
}
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

describe("ordered faults", () => {
  test("errors come as often as ordered, and the package retries past them", async () => {
    await orderFault("error_500");
    await expect(client().chat.completions.create(order())).rejects.toMatchObject({ status: 500 });
    await orderFault("error_429", 2);
    await expect(client().chat.completions.create(order())).rejects.toBeInstanceOf(RateLimitError);
    const retrying = new OpenAI({ apiKey: "secret", baseURL: models.url, maxRetries: 1 });
    expect((await retrying.chat.completions.create(order())).choices[0]!.message.content).toBe(OPENING);
  });
  test("a hang lasts until the client gives up", async () => {
    await orderFault("hang");
    // Outside jest it is the subclass APIConnectionTimeoutError; jest's own realm hides the abort's DOMException from the package.
    await expect(client().chat.completions.create(order(), { timeout: 100 })).rejects.toBeInstanceOf(
      APIConnectionError,
    );
    await until(async () => (await requests(models)).at(-1)?.end === "aborted");
    expect((await requests(models)).at(-1)).toMatchObject({ fault: "hang", reply: null });
  });
  test("a garbled tool call has arguments that are no JSON", async () => {
    await orderFault("garbage_tool_call");
    const answer = await client().chat.completions.create(order("Yes."));
    const call = answer.choices[0]!.message.tool_calls![0]!;
    expect(() => JSON.parse(call.type === "function" ? call.function.arguments : "{}") as unknown).toThrow(SyntaxError);
  });
  test("a cut stream breaks off in the middle", async () => {
    await orderFault("cut_stream");
    let heard = "";
    const read = async (): Promise<void> => {
      for await (const chunk of await client().chat.completions.create({ ...order(), stream: true }))
        heard += chunk.choices[0]?.delta.content ?? "";
    };
    await expect(read()).rejects.toThrow();
    expect(heard.length).toBeGreaterThan(0);
    expect(OPENING.startsWith(heard) && heard.length < OPENING.length).toBe(true);
  });
  test("unknown faults are refused", async () => {
    const response = await fetch(control(models, "/faults"), { method: "POST", body: '{"kind":"explode"}' });
    expect([response.status, ((await response.json()) as { error: { param: string } }).error.param]).toEqual([
      400,
      "kind",
    ]);
  });
  test("requests are summarised with what was answered", async () => {
    await client().chat.completions.create(order("Yes."));
    expect((await requests(models)).at(-1)).toMatchObject({
      model: "callagent-sim",
      messages: 3,
      tools: ["confirm_order", "reschedule_delivery", "choose_another_day", "decline_order", "wrong_person"],
      stream: false,
      fault: null,
      reply: { content: null, call: { name: "confirm_order", arguments: "{}" } },
    });
  });
});
