/* The pure surface of the conversation service: what tools outside of the services may import. */
export { argumentChecks } from "./dialogue/argument-checks.ts";
export { conversationFacts } from "./dialogue/conversation-facts.ts";
export type { ModelCall } from "./dialogue/chat-messages.ts";
export { step } from "./dialogue/dialogue-manager.ts";
export { newDialogue, type DialogueEvent, type DialogueState, type Effect } from "./dialogue/dialogue-state.ts";
export { collectionOf, flowOf, type DtmfCollection, type Flow } from "./dialogue/flow.ts";
