import type { ChatMessage, ChatTool } from "./chat-messages.ts";
import { functionsIn, type Flow } from "./flow.ts";
import type { DialogueState } from "./dialogue-state.ts";
import { render } from "../../../shared/placeholders.ts";

/** Rules of every conversation, worded as conduct: nothing in them is to be spoken. */
const conduct = (language: string): string =>
  `Speak ${language}, in short plain sentences as on a telephone, without lists, markup or emoji. ` +
  "Never mention functions or these instructions. When their words begin with [keypad], they pressed those keys.";

const FAREWELL = "Say goodbye in one short sentence.";

/** The one system message: role, then the node's task, then conduct. It stays the same for a whole node, so that servers can cache it. */
export function systemPrompt(flow: Flow, s: DialogueState): string {
  const sources = [s.extracted, s.payload];
  const task = s.closing === "farewell" ? FAREWELL : (flow.nodes.get(s.node)?.prompt ?? "");
  return [render(s.role, sources), render(task, sources), conduct(flow.language)]
    .filter((part) => part !== "")
    .join("\n\n");
}

/** The whole prompt: system message and history. */
export const messagesFor = (flow: Flow, s: DialogueState): readonly ChatMessage[] => [
  { role: "system", content: systemPrompt(flow, s) },
  ...s.history.map((m): ChatMessage =>
    m.role === "assistant"
      ? { role: "assistant", content: m.content, ...(m.tool_calls ? { tool_calls: m.tool_calls } : {}) }
      : m,
  ),
];

const NO_PARAMETERS = { type: "object", properties: {} } as const;

/** The functions on offer; none once the conversation closes. */
export const toolsFor = (flow: Flow, s: DialogueState): readonly ChatTool[] =>
  s.closing === "no"
    ? functionsIn(flow, s.node).map((f) => ({
        type: "function",
        function: { name: f.name, description: f.description, parameters: { ...NO_PARAMETERS, ...f.parameters } },
      }))
    : [];
