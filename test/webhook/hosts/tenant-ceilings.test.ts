import {
  HostSlots,
  MAX_IN_FLIGHT,
  MAX_PER_HOST,
  MAX_PER_RECEIVER,
  MAX_PER_TENANT,
  MAX_UNPROVEN_PER_TENANT,
  type HostSlot,
} from "../../../services/webhook/hosts/host-slots.ts";
import { MAX_WAITING_PER_TENANT } from "../../../services/webhook/hosts/waiting-receivers.ts";
import type { TryResult } from "../../../services/webhook/rules/delivery-verdict.ts";
import { virtualClock } from "../../fixtures/virtual-clock.ts";

/** What one tenant can take of the room that all share. */
const ok: TryResult = { status: 204, retry_after_seconds: null };
const silence: TryResult = { status: null, error: "no answer within 15 s", refused: false };
const many = <T>(n: number, of: T): T[] => Array.from({ length: n }, () => of);
const names = (count: number): string[] => Array.from({ length: count }, (_, i) => `h${i}`);
/** A receiver; without a tenant one that has this host for itself. */
const of = (host: string, merchant_id = `tenant of ${host}`) => ({ host, reseller_id: "r", merchant_id });
const book = () => ({ hosts: new HostSlots(virtualClock(), () => 0.5) });
const fail = (slots: readonly (HostSlot | null)[]): void => {
  for (const slot of slots) {
    slot?.answered(silence);
    slot?.release();
  }
};

test("a tenant whose requests fail is left alone, and the others at the same host are not", () => {
  const { hosts: h } = book();
  fail(many(5, 0).map(() => h.acquire(of("a", "ill"))));
  expect([h.acquire(of("a", "ill")), h.isDown(of("a", "ill")), h.isDown(of("a", "well"))]).toEqual([null, true, false]);
  expect(many(12, 0).filter(() => h.acquire(of("a", "well")))).toHaveLength(MAX_PER_RECEIVER);
  expect(h.pausedUntil(of("a", "well"))).toBeNull();
  expect(h.acquire({ host: "a", reseller_id: "r", merchant_id: null })).not.toBeNull();
  h.enqueue(of("a", "ill"));
  expect(h.anyNext()).toBe(false);
});
test("a host has a ceiling over all tenants, and gives what is free there to whoever waits longest", () => {
  const { hosts: h } = book();
  const held = many(MAX_PER_HOST, 0).map((_, i) => h.acquire(of("a", `t${i % 20}`)));
  expect(held).not.toContain(null);
  expect([h.acquire(of("a", "late")), h.acquire(of("b"))]).toEqual([null, expect.anything()]);
  h.enqueue(of("a", "late"));
  h.enqueue(of("a", "t1"));
  expect(h.anyNext()).toBe(false);
  held[0]?.answered(ok);
  expect(h.next(20).map((n) => [n.receiver.merchant_id, n.slots.length])).toEqual([["late", 1]]);
});
test("a tenant with hosts without number, hanging or well, leaves others their room", () => {
  const { hosts: h } = book();
  const mine = names(300).map((host) => of(host, "flood"));
  expect(mine.flatMap((r) => many(12, r).map((one) => h.acquire(one))).filter(Boolean)).toHaveLength(
    MAX_UNPROVEN_PER_TENANT,
  );
  for (const receiver of mine) h.enqueue(receiver);
  expect([h.anyNext(), h.next(20)]).toEqual([false, []]);
  for (const host of names(MAX_WAITING_PER_TENANT * 12)) h.enqueue(of(host, "flood"));
  h.enqueue(of("new", "other"));
  expect(h.next(20).map((n) => [n.receiver.host, n.slots.length])).toEqual([["new", MAX_PER_RECEIVER]]);

  const { hosts: fast } = book();
  const proven = names(30).map((host) => of(host, "flood"));
  for (const receiver of proven) {
    const slot = fast.acquire(receiver);
    slot?.answered(ok);
    slot?.release();
  }
  expect(proven.flatMap((r) => many(10, r).map((one) => fast.acquire(one))).filter(Boolean)).toHaveLength(
    MAX_PER_TENANT,
  );
  expect(fast.acquire(of("new", "other"))).not.toBeNull();
});

describe("merchants of one reseller, as many as it likes, with hosts without number that answer late", () => {
  const late = (merchant: number, host: string) => of(`${host}.m${merchant}`, `m${merchant}`);
  /** Every slot is theirs, and whatever else may wait is theirs too. */
  function flooded() {
    const { hosts } = book();
    const receivers = [0, 1].flatMap((merchant) => names(10).map((host) => late(merchant, host)));
    for (const receiver of receivers) {
      const slot = hosts.acquire(receiver);
      slot?.answered(ok);
      slot?.release();
    }
    const held = receivers.flatMap((receiver) => many(MAX_PER_RECEIVER, receiver).map((one) => hosts.acquire(one)));
    expect(held).toHaveLength(MAX_IN_FLIGHT);
    expect(held).not.toContain(null);
    for (let merchant = 0; merchant < 12; merchant++)
      for (const host of names(MAX_WAITING_PER_TENANT)) hosts.enqueue(late(merchant, `late-${host}`));
    return { hosts, held };
  }
  const other = { host: "new", reseller_id: "another", merchant_id: null };

  test("the next slot that is free goes to another reseller's receiver, though thousands have waited longer", () => {
    const { hosts, held } = flooded();
    hosts.enqueue(other);
    held[0]?.release();
    expect(hosts.next(20).map((n) => [n.receiver.host, n.slots.length])).toEqual([["new", 1]]);
  });
  test("and in the same reseller to the merchant that has the fewest requests under way", () => {
    const { hosts, held } = flooded();
    hosts.enqueue(of("new", "quiet"));
    held[0]?.release();
    expect(hosts.next(20)).toMatchObject([{ receiver: { merchant_id: expect.not.stringMatching(/^m[01]$/) } }]);
  });
  test("what they send meanwhile does not take it first", () => {
    const { hosts, held } = flooded();
    hosts.enqueue(other);
    held[0]?.release();
    expect(hosts.acquire(late(0, "h0"))).toBeNull();
    expect(hosts.next(20)).toMatchObject([{ receiver: other }]);
  });
});
