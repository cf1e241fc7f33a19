import { pino } from "pino";
import type { Bus } from "../../shared/bus/bus.ts";
import { abortLeads } from "../../services/leads/abort.ts";
import type { LeadDeps } from "../../services/leads/deps.ts";
import type { LeadTransition } from "../../services/leads/rules/lead-transition.ts";
import { asMerchant } from "../../local/harness/stage.ts";
import { virtualClock } from "../fixtures/virtual-clock.ts";

const id = (n: number): string => `2f5a2f3e-1c1b-4b8e-9d52-6f6f1f0d7a1${n}`;
const [ABORTED, CLAIMED, CALLED] = [id(1), id(2), id(3)];

/** Leads of which one is claimed between the look and the write; `note`: what becomes of the second write. */
function raced(note: () => unknown) {
  const written: LeadTransition[][] = [];
  const looks = [{ [ABORTED]: "RETRY", [CLAIMED]: "BACKLOG", [CALLED]: "PROCESSING" }, { [CLAIMED]: "PROCESSING" }];
  const leads = {
    briefs: async (_scope: unknown, ids: string[]) => {
      const seen: Record<string, string> = looks.shift() ?? {};
      return ids.map((_id) => ({ _id, status: seen[_id], payload: {} }));
    },
    transitionMany: async (transitions: LeadTransition[]) => {
      written.push(transitions);
      if (written.length > 1) note();
      return transitions.map(({ filter }) => (filter["_id"] === ABORTED ? { _id: ABORTED, reseller_id: "r" } : null));
    },
  };
  const deps = {
    clock: virtualClock(),
    leads,
    log: pino({ enabled: false }),
    onFinished: () => undefined,
  } as unknown as LeadDeps;
  const bus = { call: async () => ({}) } as unknown as Bus;
  const abort = () =>
    abortLeads(deps, bus, {
      by: asMerchant("r", "m"),
      leads: [ABORTED, CLAIMED, CALLED].map((lead_id) => ({ lead_id, cancellation_reason: "withdrawn" })),
    });
  return { written, abort };
}
const STATUSES = ["success", "processing", "processing"];

test("an abort that loses the race against the claim leaves who asked and why in the lead's history; one that came during the call does not", async () => {
  const { written, abort } = raced(() => undefined);
  expect((await abort()).leads.map(({ status }) => status)).toEqual(STATUSES);
  expect(written[1]).toEqual([
    {
      events: [],
      filter: { _id: CLAIMED, status: "PROCESSING" },
      update: {
        $set: { updated_at: expect.any(Date) },
        $push: {
          history: expect.objectContaining({
            $each: [
              {
                event: "abort_refused",
                at: expect.any(Date),
                details: { reason: "withdrawn", by: expect.stringMatching(/^.+:.+$/) },
              },
            ],
          }),
        },
      },
    },
  ]);
});

test("a note that can't be written changes no answer", async () => {
  const { abort } = raced(() => {
    throw new Error("store away");
  });
  expect((await abort()).leads.map(({ status }) => status)).toEqual(STATUSES);
});
