/* The surface of the conversation service that is not pure: the clients of models, for tools outside of the services. */
export { chatModel } from "./providers/llm/chat-model.ts";
export { openAiChat } from "./providers/llm/openai-chat.ts";
export { ModelError, type ChatModel, type ChatRequest, type SpeechModel } from "./providers/port.ts";
export { modelAddresses, realtimeListener, type ModelAddress, type ModelKind } from "./providers/addresses.ts";
export { openAiSpeech } from "./providers/tts/openai-speech.ts";
export { openAiTranscriber } from "./providers/stt/openai-transcription.ts";
export { realtimeTranscription } from "./providers/stt/realtime-transcription.ts";
export { segmentedTranscription } from "./providers/stt/segmented-transcription.ts";
export { realtimeConnection } from "./providers/realtime/realtime-connection.ts";
export { createResponse, sessionUpdate, type Dialect } from "./providers/realtime/realtime-dialect.ts";
