import { nodeIdOf, processNameOf, serviceOfNode } from "../../../shared/process/node-id.ts";
import { readEnv } from "../../../shared/process/env.ts";

const RUNNER = ["node", "/app/node_modules/moleculer/bin/moleculer-runner.js", "--mask", "**/*.service.ts"];

test.each([
  ["services/leads", "leads"],
  ["/app/services/gateway/", "gateway"],
  ["services", "all"],
  ["services/strangers", "all"],
])("a process that runs %s is %s", (folder, name) => expect(processNameOf([...RUNNER, folder])).toBe(name));

test("a process that runs several services is none of them", () =>
  expect(processNameOf([...RUNNER, "services/leads", "services/auth"])).toBe("all"));

test.each([
  ["leads", undefined, "leads.web-1-7"],
  ["leads", "3", "leads.3"],
  ["leads", "leads.3", "leads.3"],
  ["all", undefined, "all.web-1-7"],
] as const)("a node of %s with NODE_ID %s is %s", (name, given, id) =>
  expect(nodeIdOf(name, given, { hostname: "Web-1", pid: 7 })).toBe(id),
);

test.each([
  ["leads.web-1.example.com-7", "leads"],
  ["all.web-1-7", null],
  ["leads", null],
  ["web-1-7", null],
  ["constructor.1", null],
])("the node %s is of the service %s", (id, name) => expect(serviceOfNode(id)).toBe(name));

test.each(["a b", "a*", "leads.>"])("NODE_ID %s is no part of a subject", (NODE_ID) =>
  expect(() => readEnv({ NODE_ID })).toThrow("NODE_ID must not contain spaces, * or >"),
);
