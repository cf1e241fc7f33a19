import { CONVERSATION_NODE_OPTIONS, splitProcesses } from "../../local/tools/stack/service-processes.ts";
import { contracts } from "../../shared/contracts/index.ts";
import { read, readCompose } from "./compose-file.ts";

test("a conversation's Node has the options that are measured, in compose, in the chart and in a split stack; no other has any", async () => {
  const { services } = readCompose();
  const given = Object.keys(contracts).map((name) => [name, services[name]?.environment?.["NODE_OPTIONS"]]);
  expect(given.filter(([, options]) => options !== undefined)).toEqual([["conversation", CONVERSATION_NODE_OPTIONS]]);
  expect(read("deploy/kubernetes/values.yaml")).toContain(`NODE_OPTIONS: ${CONVERSATION_NODE_OPTIONS} }`);
  const split = await splitProcesses({ conversation: 2 });
  expect(split.flatMap(({ name, env }) => (env["NODE_OPTIONS"] === CONVERSATION_NODE_OPTIONS ? [name] : []))).toEqual([
    "conversation",
    "conversation-2",
  ]);
});
