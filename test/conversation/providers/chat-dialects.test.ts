import { expect, test } from "@jest/globals";
import { chatModel } from "../../../services/conversation/providers/llm/chat-model.ts";
import { openAiChat } from "../../../services/conversation/providers/llm/openai-chat.ts";
import { virtualClock } from "../../fixtures/virtual-clock.ts";
import { CHAT_DIALECTS, startDialect } from "./fixtures/chat-dialects.ts";

/** Servers that call themselves compatible with OpenAI differ on the wire; a caller must not notice. */

const tools = ["book", "note"].map((name) => ({
  type: "function" as const,
  function: { name, description: "d", parameters: { type: "object", properties: {} } },
}));
const question = { messages: [{ role: "user" as const, content: "Friday?" }], tools };

test.each(CHAT_DIALECTS)("$server", async (dialect) => {
  const server = await startDialect(dialect);
  try {
    const model = chatModel(openAiChat({ base_url: server.url, key: "k", model: "m" }), virtualClock());
    const heard: string[] = [];
    const ask = () =>
      model.answer(question, { signal: new AbortController().signal, onText: (text) => heard.push(text) });
    if (dialect.error !== undefined) {
      await expect(ask()).rejects.toMatchObject({ code: dialect.error });
      return;
    }
    const answer = await ask();
    expect(answer.text).toBe(dialect.text ?? "");
    expect(heard.join("")).toBe(dialect.text ?? "");
    expect(
      answer.calls.map(({ name, arguments: given }) => ({ name, arguments: JSON.parse(given) as unknown })),
    ).toEqual(dialect.calls ?? []);
    expect(new Set(answer.calls.map(({ id }) => id)).size).toBe(answer.calls.length);
    expect([answer.prompt_tokens, answer.completion_tokens]).toEqual(dialect.tokens ?? [0, 0]);
    expect(answer.tries).toBe(1);
    const before = server.asked.length;
    await ask();
    expect(server.asked.length - before).toBe(1); // what was refused is not sent again
  } finally {
    await server.close();
  }
});
