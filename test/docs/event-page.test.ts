import { readFileSync } from "node:fs";
import { join } from "node:path";
import { STREAM_ENDS } from "../../services/gateway/api/event-stream.ts";
import { STREAMS_PER_TENANT } from "../../services/gateway/api/open-streams.ts";
import { EVENT_NAMES, EVENTS, isEventName } from "../../shared/contracts/events/catalogue.ts";
import { CloudEvent } from "../../shared/contracts/events/event-type.ts";
import { issueChecker } from "../../shared/validator.ts";
import { ROOT } from "../../local/tools/stack/project-root.ts";

const page = readFileSync(join(ROOT, "docs/events.md"), "utf8");

test("the event on the page is one, by the envelope and by its type", () => {
  const event: unknown = JSON.parse(/```json\n([^]*?)```/.exec(page)?.[1] ?? "");
  expect(issueChecker(CloudEvent)(event)).toEqual([]);
  const { type, data } = event as CloudEvent;
  expect(isEventName(type)).toBe(true);
  if (isEventName(type)) expect(issueChecker(EVENTS[type].data)(data)).toEqual([]);
});

test("the page names every type that is written, and no other", () => {
  const named = [...page.matchAll(/^\| `([a-z]+\.[a-z]+)` \|/gm)].map((m) => m[1]);
  expect(named.toSorted()).toEqual(EVENT_NAMES.toSorted());
});

test("the page names every reason for which a stream ends, and how many a tenant has", () => {
  for (const reason of STREAM_ENDS) expect(page).toContain(`\`${reason}\``);
  expect(page).toContain(`A tenant has ${STREAMS_PER_TENANT} streams`);
});
