import { describe, expect, test } from "@jest/globals";
import * as fc from "fast-check";
import { EVENTS, timelineOf, type Recorded } from "../../../services/leads/lists/lead-timeline.ts";
import type { CallHistory } from "../../../shared/contracts/dialer.ts";

const ID = "6f9619ff-8b86-4d01-b42d-00cf4fc964ff";
const at = (second: number): string => new Date(Date.parse("2026-11-21T10:00:00.000Z") + second * 1000).toISOString();
const move = (event: string, second: number, details: Record<string, unknown> = {}) => ({
  event,
  at: new Date(at(second)),
  details,
});
const call = (over: Partial<CallHistory>): CallHistory => ({
  call_ref: `${ID}.1`,
  claim_no: 1,
  state: "ENDED",
  provider: "PROVIDER_ONE",
  call_id: "CA1",
  intended_at: at(30),
  placed_at: at(31),
  ringing_at: null,
  answered_at: null,
  joined_at: null,
  ended_at: at(60),
  closed_at: at(60),
  ended: "no_answer",
  cause: null,
  machine: null,
  hang_up: null,
  talk_seconds: null,
  cost: null,
  cost_currency: null,
  ...over,
});
const recorded = (over: Partial<Recorded> = {}): Recorded => ({
  lead: { created_at: new Date(at(0)), history: [move("queued", 0)] },
  calls: { calls: [], carrier_events: [] },
  deliveries: [],
  ...over,
});
const words = (r: Recorded): string[] => timelineOf(r).map((e) => `${e.source}:${e.event}`);

describe("the timeline", () => {
  test("tells a lead's whole road in its order", () => {
    const talk = { turns: 4, user_turns: 2, ended_by: "agent" };
    expect(
      words({
        lead: {
          created_at: new Date(at(0)),
          history: [
            move("queued", 0),
            move("claimed", 30, { claim_no: 1 }),
            move("retry", 60, { claim_no: 1, outcome: "no_answer", talk: null }),
            move("claimed", 120, { claim_no: 2 }),
            move("finished", 170, { claim_no: 2, outcome: "confirmed", ended_at: at(169), talk }),
            move("noted", 200, { claim_no: 2, cost: 0.01 }),
          ],
        },
        calls: {
          calls: [
            call({}),
            call({
              call_ref: `${ID}.2`,
              claim_no: 2,
              intended_at: at(120),
              placed_at: at(121),
              ringing_at: at(123),
              answered_at: at(128),
              joined_at: at(129),
              ended_at: at(171),
              closed_at: at(172),
              ended: "completed",
            }),
          ],
          carrier_events: [
            {
              call_ref: `${ID}.2`,
              kind: "status",
              received_at: at(123),
              applied: true,
              note: null,
              steps: [{ type: "ringing", at: null }],
            },
          ],
        },
        deliveries: [
          {
            id: `msg_${ID}`,
            lead_id: ID,
            url: "https://x.example/",
            state: "delivered",
            next_try_at: null,
            created_at: at(172),
            tries: [
              { at: at(173), status: 500, error: null, duration_ms: 3 },
              { at: at(180), status: 204, error: null, duration_ms: 2 },
            ],
          },
        ],
      }),
    ).toEqual([
      "leads:queued",
      "leads:claimed",
      "dialer:dial_intended",
      "dialer:placed",
      "carrier:ended",
      "leads:retry",
      "dialer:closed",
      "leads:claimed",
      "dialer:dial_intended",
      "dialer:placed",
      "carrier:callback",
      "carrier:ringing",
      "carrier:answered",
      "conversation:media_joined",
      "conversation:talk_ended",
      "leads:finished",
      "carrier:ended",
      "dialer:closed",
      "webhook:report_queued",
      "webhook:report_tried",
      "webhook:report_tried",
      "leads:noted",
    ]);
  });
  test("a talk's end tells how many turns it had, and no word of it", () => {
    const events = timelineOf(
      recorded({
        lead: {
          created_at: new Date(at(0)),
          history: [
            move("finished", 9, {
              claim_no: 1,
              ended_at: at(8),
              talk: { turns: 3, user_turns: 1, ended_by: "customer" },
            }),
          ],
        },
      }),
    );
    expect(events).toContainEqual({
      at: at(8),
      source: "conversation",
      event: "talk_ended",
      details: { claim_no: 1, turns: 3, user_turns: 1, ended_by: "customer" },
    });
  });
  test("a lead whose history is older than what is kept was queued all the same", () => {
    expect(words(recorded({ lead: { created_at: new Date(at(0)), history: [move("claimed", 500)] } }))).toEqual([
      "leads:queued",
      "leads:claimed",
    ]);
  });
  test("what prevents a dial, and a delivery that will be tried again", () => {
    expect(
      words(
        recorded({
          calls: {
            calls: [call({ state: "VOID", placed_at: null, ended_at: null, closed_at: null })],
            carrier_events: [],
          },
        }),
      ),
    ).toEqual(["leads:queued", "dialer:dial_prevented"]);
    expect(
      words(
        recorded({
          deliveries: [
            {
              id: "m",
              lead_id: ID,
              url: "",
              state: "pending",
              next_try_at: at(90),
              created_at: at(1),
              tries: [{ at: at(2), status: null, error: "ECONNREFUSED", duration_ms: 1 }],
            },
          ],
        }),
      ),
    ).toEqual(["leads:queued", "webhook:report_queued", "webhook:report_tried", "webhook:report_due_again"]);
  });
  test("order: time first, then the order of things, then as recorded; whatever is recorded, nothing is lost", () => {
    const entry = fc
      .record({ event: fc.constantFrom(...EVENTS), second: fc.integer({ min: 0, max: 5 }), n: fc.integer() })
      .map(({ event, second, n }) => move(event, second, { n }));
    fc.assert(
      fc.property(fc.array(entry, { maxLength: 60 }), (history) => {
        const events = timelineOf(
          recorded({ lead: { created_at: new Date(at(0)), history: [move("queued", 0), ...history] } }),
        );
        expect(events).toHaveLength(history.length + 1);
        for (let i = 1; i < events.length; i++) {
          const [a, b] = [events[i - 1]!, events[i]!];
          expect(a.at <= b.at).toBe(true);
          if (a.at === b.at)
            expect(EVENTS.indexOf(a.event as "queued")).toBeLessThanOrEqual(EVENTS.indexOf(b.event as "queued"));
        }
        for (const name of EVENTS)
          for (let second = 0; second <= 5; second++) {
            const same = (h: { event: string; details: Record<string, unknown>; at: string | Date }) =>
              h.event === name && new Date(h.at).toISOString() === at(second) && "n" in h.details;
            expect(events.filter(same).map((e) => e.details["n"])).toEqual(
              history.filter(same).map((h) => h.details["n"]),
            );
          }
      }),
    );
  });
});
