import { explain } from "../../../services/scheduler/admission/explanation.ts";
import type { ConfigurationRecord } from "../../../shared/contracts/records/configuration.ts";
import { configuration, gateInputs, plan, waiting } from "../fixtures/gate-inputs.ts";

/** What explain says of the calling window's days. */

const windowOf = (over: Partial<ConfigurationRecord>, at: string) => {
  const lasting = plan({ max_age_seconds: 7_776_000, configuration: configuration(over) });
  const inputs = gateInputs({ plan: lasting, at: new Date(at) }, { due_at: at, created_at: at });
  const explained = explain(waiting({ created_at: at }), inputs);
  return { ...explained.gates.find((g) => g.gate === "window"), next: explained.next_eligible_at };
};
const workdays = { weekdays: [1, 2, 3, 4, 5], holidays: ["--12-25"] };

test.each<[string, Partial<ConfigurationRecord>, string, string, object, string | null]>([
  [
    "a weekday that is shut",
    workdays,
    "2026-11-21T10:00:00.000Z",
    "The calling window 09:00-18:00 UTC is closed: Saturday is none of its weekdays; it opens at 2026-11-23T09:00:00.000Z.",
    { weekdays: [1, 2, 3, 4, 5], closed_by: "weekday" },
    "2026-11-23T09:00:00.000Z",
  ],
  [
    "a holiday",
    workdays,
    "2026-12-25T10:00:00.000Z",
    "The calling window 09:00-18:00 UTC is closed: 2026-12-25 is one of its holidays; it opens at 2026-12-28T09:00:00.000Z.",
    { closed_by: "holiday" },
    "2026-12-28T09:00:00.000Z",
  ],
  [
    "the evening before a weekend",
    workdays,
    "2026-11-20T18:00:00.000Z",
    "The calling window 09:00-18:00 UTC is closed; it opens at 2026-11-23T09:00:00.000Z.",
    { closed_by: "hours" },
    "2026-11-23T09:00:00.000Z",
  ],
  [
    "every day of the only weekday is a holiday",
    { weekdays: [1], holidays: Array.from({ length: 60 }, (_, i) => new Date(Date.UTC(2026, 10, 23) + i * 604_800_000).toISOString().slice(0, 10)) }, // prettier-ignore
    "2026-11-23T10:00:00.000Z",
    "The calling window 09:00-18:00 UTC is closed: 2026-11-23 is one of its holidays; it does not open within 400 days.",
    { closed_by: "holiday" },
    null,
  ],
])("explain names %s", (_what, over, at, detail, values, next) => {
  expect(windowOf(over, at)).toMatchObject({ verdict: "hold", detail, values, until: next, next });
});

test("an open window of some days says until when", () => {
  expect(windowOf(workdays, "2026-11-20T10:00:00.000Z")).toMatchObject({
    verdict: "pass",
    detail: "The calling window 09:00-18:00 UTC is open until 2026-11-20T18:00:00.000Z.",
  });
});
