import { ServiceBroker } from "moleculer";
import { readEnv } from "../../../shared/process/env.ts";
import { brokerLogger, rootLog } from "../../../shared/process/log.ts";

test("Moleculer's lines have the shape of ours, and only those of its level", () => {
  const lines: Record<string, unknown>[] = [];
  const keep = { write: (line: string) => void lines.push(JSON.parse(line) as Record<string, unknown>) };
  const log = rootLog(readEnv({ NODE_ENV: "test", NODE_ID: "leads.1" }), keep);
  log.child({ service: "leads" }).warn({ event: "one" }, "ours");
  const broker = new ServiceBroker({ logger: brokerLogger(log, "warn"), internalServices: false });
  broker.logger.info("not wanted");
  broker.logger.warn("theirs");
  const [ours, theirs] = lines;
  expect(lines).toHaveLength(2);
  expect(theirs).toEqual({
    level: "warn",
    time: expect.stringMatching(/^\d{4}-\d{2}-\d{2}T[\d:.]+Z$/),
    node: "leads.1",
    service: "bus",
    mod: "broker",
    msg: "theirs",
  });
  const shape = ({ level, time, node, service, msg }: Record<string, unknown> = {}) =>
    [level, time, node, service, msg].map((v) => typeof v);
  expect(shape(theirs)).toEqual(shape(ours));
});
