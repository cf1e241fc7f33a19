import { complete } from "../../deploy/local/models/completion.ts";
import { readRequest } from "../../deploy/local/models/request.ts";
import type { SampleTemplate } from "../../deploy/local/sample/template.ts";

/** A customer whose data fill the sample templates. */
export const CUSTOMER: Readonly<Record<string, string>> = {
  customer_name: "Ada Lindqvist",
  order_id: "NW-10320",
  amount: "82.25",
  delivery_date: "Monday, June 9",
  doctor: "Dr. Ito",
  appointment_day: "Thursday, June 12",
  appointment_time: "9:30 am",
  new_day: "Friday",
  new_delivery_date: "Friday",
};

export const fill = (text: string): string =>
  text.replace(/\{\{(\w+)\}\}/g, (_all, name: string) => CUSTOMER[name] ?? `{{${name}}}`);

/** A request as the conversation service sends it while the talk is at a node; `said` alternates agent and person after the task was spoken. */
export function requestAt(
  template: SampleTemplate,
  nodeName: string,
  history: readonly Readonly<Record<string, unknown>>[],
): Record<string, unknown> {
  const node = template.nodes.find(({ name }) => name === nodeName);
  if (node === undefined) throw new Error(`no node ${nodeName}`);
  const functions = [...(node.functions ?? []), ...template.global_functions];
  return {
    model: "callagent-sim",
    messages: [{ role: "system", content: fill(`${node.role_prompt ?? ""}\n\n${node.prompt ?? ""}`) }, ...history],
    ...(functions.length === 0
      ? {}
      : {
          tools: functions.map(({ name, description, parameters }) => ({
            type: "function",
            function: { name, description, parameters },
          })),
        }),
  };
}

/** What the model does when a person says `words` after the node's task was spoken: "tool {arguments}" or the spoken text. */
export function reaction(template: SampleTemplate, node: string, ...words: string[]): string {
  const opening = complete(readRequest(requestAt(template, node, []))).content ?? "";
  const history: Record<string, unknown>[] = [{ role: "assistant", content: opening }];
  let last = "";
  for (const word of words) {
    history.push({ role: "user", content: word });
    const plan = complete(readRequest(requestAt(template, node, history)));
    last = plan.call === null ? (plan.content ?? "") : `${plan.call.name} ${plan.call.arguments}`;
    history.push({ role: "assistant", content: plan.content ?? "" });
  }
  return last;
}
