import webhook from "../../../services/webhook/webhook.service.ts";
import { setStage, standIn } from "../../../local/harness/stage.ts";

test.each([
  ["production", "true", ["webhook.plain_http"]],
  ["production", "false", []],
  ["test", "true", []],
])("at start in %s with WEBHOOK_ALLOW_HTTP %s the log says: %j", async (NODE_ENV, WEBHOOK_ALLOW_HTTP, said) => {
  const events: unknown[] = [];
  const stage = await setStage({
    services: [webhook, standIn("merchants", {})],
    env: { NODE_ENV, WEBHOOK_ALLOW_HTTP, LOG_LEVEL: "warn" },
    onLog: (line) => events.push((JSON.parse(line) as { event?: string }).event),
  });
  await stage.stop();
  expect(events.filter((event) => event === "webhook.plain_http")).toEqual(said);
});
