import { ServerResponse, IncomingMessage } from "node:http";
import { Socket } from "node:net";
import { expect, test } from "@jest/globals";
import { createAllowanceNotices, type AllowanceNotices } from "../../services/gateway/allowance-notices.ts";
import { limitsOf, type SharedLimits } from "../../services/gateway/http/request-limits.ts";
import type { EventOf } from "../../shared/bus/bus.ts";
import { codeOf } from "../../shared/errors.ts";
import { randomIds } from "../../shared/ids.ts";
import { asMerchant } from "../../local/harness/stage.ts";
import { virtualClock } from "../fixtures/virtual-clock.ts";

const PER_MINUTE = 100;

/** Gateways of one deployment, whose notices reach all of them. */
function gateways(count: number) {
  const clock = virtualClock();
  const told: EventOf<"allowance.spent">[] = [];
  const all: { limits: SharedLimits; notices: AllowanceNotices }[] = [];
  const tell = (notice: EventOf<"allowance.spent">): void => {
    told.push(notice);
    for (const { notices } of all) notices.note(structuredClone(notice));
  };
  for (let n = 0; n < count; n++) {
    const limits = limitsOf({ API_RATE_LIMIT_PER_MINUTE: PER_MINUTE, TRUST_PROXY: false }, clock);
    all.push({ limits, notices: createAllowanceNotices({ clock, ids: randomIds }, limits, tell) });
  }
  const ask = (gateway: number, merchant: string, units: number): string => {
    const res = new ServerResponse(new IncomingMessage(new Socket()));
    try {
      all[gateway]?.limits.countRequest(res, asMerchant("r", merchant), units);
      return `left ${String(res.getHeader("RateLimit-Remaining"))}`;
    } catch (error) {
      return String(codeOf(error));
    }
  };
  return { clock, told, all, ask };
}

test("what a tenant used at one gateway is gone at the others a second later, and counts once where it was used", async () => {
  const { clock, told, all, ask } = gateways(3);
  const loops = all.map(({ notices }) => notices.start());
  await Promise.all(loops.map((loop) => loop.nextPass()));
  expect([ask(0, "m", 60), ask(1, "m", 30), ask(2, "other", 5)]).toEqual(["left 40", "left 70", "left 95"]);
  await Promise.all(loops.map((loop) => loop.nextPass()));
  expect(told.map(({ spent }) => spent)).toEqual([
    [{ tenant: "merchant:m", units: 60 }],
    [{ tenant: "merchant:m", units: 30 }],
    [{ tenant: "merchant:other", units: 5 }],
  ]);
  expect([ask(0, "m", 4), ask(1, "m", 4), ask(2, "m", 4), ask(0, "other", 1)]).toEqual([
    "left 6",
    "left 6",
    "left 6",
    "left 94",
  ]);
  await Promise.all(loops.map((loop) => loop.nextPass()));
  expect([ask(0, "m", 1), ask(1, "m", 1), ask(2, "m", 1)]).toEqual(["RATE_LIMITED", "RATE_LIMITED", "RATE_LIMITED"]);
  await clock.advance(60_000);
  expect(ask(1, "m", 1)).toBe("left 99");
  await Promise.all(loops.map((loop) => loop.stop()));
});

test("a message names those who used the most, and the others are told next; what was refused is told to nobody", () => {
  const { all, ask } = gateways(1);
  const limits = all[0]?.limits;
  ask(0, "a", 1);
  ask(0, "b", 150);
  expect(ask(0, "b", 7)).toBe("RATE_LIMITED");
  expect(limits?.takeSpent(1)).toEqual([{ tenant: "merchant:b", units: 150 }]);
  expect(limits?.takeSpent(1)).toEqual([{ tenant: "merchant:a", units: 1 }]);
  expect(limits?.takeSpent(1)).toEqual([]);
});
