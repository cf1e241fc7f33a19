import type { FlowFunction, FlowNode, TemplateRecord } from "../../../shared/contracts/template.ts";

/** What is wrong with the arguments of a call; empty when they fit. Injected: compiling schemas is not the brain's work. */
export type ArgumentCheck = (called: FlowFunction, args: Readonly<Record<string, unknown>>) => readonly string[];

/** A template version made ready for talking: what the brain knows beside the state. */
export interface Flow {
  readonly language: string;
  readonly greeting: string | null;
  /** What is left on a machine; null: nothing. */
  readonly voicemail_message: string | null;
  readonly initial_node: string;
  readonly nodes: ReadonlyMap<string, FlowNode>;
  readonly global_functions: readonly FlowFunction[];
  readonly check: ArgumentCheck;
}

/** Makes a flow of a template version. */
export const flowOf = (template: TemplateRecord, check: ArgumentCheck): Flow => ({
  language: template.language, greeting: template.greeting, voicemail_message: template.voicemail_message, initial_node: template.initial_node,
  nodes: new Map(template.nodes.map((node) => [node.name, node])), global_functions: template.global_functions, check,
});

/** Functions on offer in a node: its own, then the template's; its own win over a namesake. */
export function functionsIn(flow: Flow, node: string): readonly FlowFunction[] {
  const own = flow.nodes.get(node)?.functions ?? [];
  const names = new Set(own.map((f) => f.name));
  return [...own, ...flow.global_functions.filter((f) => !names.has(f.name))];
}

/** Whether the customer may talk over what is said in a node; true where nothing is said about it. */
export const interruptible = (flow: Flow, node: string): boolean => flow.nodes.get(node)?.interruptible ?? true;
