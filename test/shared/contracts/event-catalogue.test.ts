import { Type } from "../../../shared/contracts/define.ts";
import { EVENT_NAMES, EVENTS, exampleEvent } from "../../../shared/contracts/events/catalogue.ts";
import { CloudEvent } from "../../../shared/contracts/events/event-type.ts";
import { issueChecker } from "../../../shared/validator.ts";

test("the events have the names that are agreed upon", () => {
  expect(EVENT_NAMES.join(" ")).toBe(
    "lead.queued lead.claimed lead.dialing lead.ringing lead.answered lead.turn lead.ended lead.retry lead.finished " +
      "lead.evaluated lead.aborted lead.parked recording.stored cost.known number.changed pause.changed configuration.changed",
  );
});

test.each(EVENT_NAMES)("the example of %s fits its schema, as data and as a CloudEvent", (name) => {
  expect(issueChecker(EVENTS[name].data)(EVENTS[name].example)).toEqual([]);
  expect(issueChecker(CloudEvent)(exampleEvent(name))).toEqual([]);
});

test("an example that does not fit is found", () => {
  const { example } = EVENTS["lead.retry"];
  expect(
    issueChecker(Type.Object({ ...EVENTS["lead.retry"].data.properties, more: Type.String() }))(example),
  ).not.toEqual([]);
});

test("numbers in examples are masked", () => {
  for (const name of EVENT_NAMES) expect(JSON.stringify(EVENTS[name].example)).not.toMatch(/\+\d{5,}/);
});
