/* The surface of the conversation service that is not pure: the client of the language model, for tools outside of the services. */
export { chatModel } from "./providers/llm/chat-model.ts";
export { openAiChat } from "./providers/llm/openai-chat.ts";
export { ModelError, type ChatRequest } from "./providers/port.ts";
