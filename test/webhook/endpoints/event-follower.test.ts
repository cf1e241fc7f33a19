import { pino } from "pino";
import type { EndpointEvent } from "../../../services/webhook/endpoints/endpoint-intake.ts";
import type { EndpointDoc } from "../../../services/webhook/endpoints/endpoints.model.ts";
import { eventFollower } from "../../../services/webhook/endpoints/event-follower.ts";
import type { Bus } from "../../../shared/bus/bus.ts";
import type { CloudEvent } from "../../../shared/contracts/events/event-type.ts";
import { cursorOwner, type EventCursorDoc, type EventCursors } from "../../../shared/database/event-cursor.ts";
import { virtualClock } from "../../fixtures/virtual-clock.ts";

const clock = virtualClock();
const RENEWED_MS = 2000;
const LEASE_MS = 6000;

const endpoint: EndpointDoc = {
  _id: "e",
  reseller_id: "r",
  merchant_id: null,
  url: "https://shop.example/hook",
  types: ["lead.claimed"],
  paused: false,
  after_position: 0,
  owner: "r",
  slot: 0,
  secrets: [],
  created_at: clock.now(),
  updated_at: clock.now(),
};
const eventAt = (position: number): CloudEvent => ({
  specversion: "1.0",
  id: `l.${position}`,
  source: "/callagent/leads",
  type: "lead.claimed",
  subject: "l",
  time: clock.now().toISOString(),
  datacontenttype: "application/json",
  reseller: "r",
  seq: position,
  data: {},
});

/** A cursor as the database would have it, and the writes of it. */
function storedCursor(): EventCursors & { renewals: number } {
  let doc: EventCursorDoc | null = null;
  return {
    renewals: 0,
    take(_id, owner, now, lease_until) {
      if (doc !== null && doc.owner !== owner && doc.lease_until > now) return Promise.resolve(null);
      doc = { _id, owner, lease_until, position: doc?.position ?? 0 };
      return Promise.resolve(doc);
    },
    renew(_id, owner, lease_until, position) {
      this.renewals++;
      if (doc?.owner !== owner) return Promise.resolve(false);
      doc = { ...doc, lease_until, position };
      return Promise.resolve(true);
    },
  };
}

test("how far the log was followed is written with each renewal of the lease; who takes over hands over again what came since, and goes on", async () => {
  const cursors = storedCursor();
  let end = 2;
  const bus = {
    call: (_action: string, { after }: { after: number }) => {
      const events = Array.from({ length: end - after }, (_, i) => ({
        position: after + i + 1,
        event: eventAt(after + i + 1),
      }));
      return Promise.resolve({ events, next: end, more: false, expired: false });
    },
  } as unknown as Bus;
  const process = (nodeId: string) => {
    const accepted: string[] = [];
    const cursor = cursorOwner(
      { clock, log: pino({ level: "silent" }), nodeId, cursors },
      { area: "endpoints", name: "endpoints" },
    );
    const follow = eventFollower({
      bus,
      log: pino({ level: "silent" }),
      cursor,
      endpoints: { firstPosition: () => Promise.resolve(0), ofResellers: () => Promise.resolve([endpoint]) },
      accept: (events: readonly EndpointEvent[]) =>
        Promise.resolve(accepted.push(...events.map(({ event }) => event.id))),
    });
    return { accepted, follow };
  };
  const one = process("one");
  await one.follow();
  expect([one.accepted, cursors.renewals]).toEqual([["l.1", "l.2"], 0]);
  await clock.advance(RENEWED_MS);
  expect(cursors.renewals).toBe(1);
  end = 4;
  await one.follow();
  expect([one.accepted, cursors.renewals]).toEqual([["l.1", "l.2", "l.3", "l.4"], 1]);

  // it dies: its renewals come no more
  cursors.renew = () => Promise.reject(new Error("dead"));
  const other = process("other");
  await other.follow();
  expect(other.accepted).toEqual([]);
  await clock.advance(LEASE_MS);
  end = 5;
  await other.follow();
  expect(other.accepted).toEqual(["l.3", "l.4", "l.5"]);
});
