import { service } from "../../shared/bus.ts";
import { scopeOf } from "../../shared/contracts/identity.ts";
import { pageFilter, pageOf, pageSize } from "../../shared/page.ts";
import { addNumber, changeNumber, notFound, removeNumber } from "./number-changes.ts";
import { filterOf, newNumber, toRecord } from "./number-views.ts";
import { keepMany, releaseMany, reserveMany } from "./slot-requests.ts";
import { numberSchema } from "./numbers.model.ts";
import { numberLines } from "./number-slots.repository.ts";
import { numberRecords } from "./numbers.repository.ts";
import { ownerFor } from "./ownership.ts";

/** Outbound numbers and who holds their lines (interface.md 2.5, 3.2, 4.3; reliability.md 3.6). */
export default service("numbers", (ground) => {
  const model = ground.store().model("numbers", numberSchema);
  const numbers = numberRecords(model);
  const lines = numberLines(model, ground.random);

  return {
    actions: {
      async create(params, { bus }) {
        const { by } = params;
        const number = newNumber(ground.ids.uuid(), params, ownerFor(by, params), ground.clock.now());
        return toRecord(await addNumber(ground, numbers, bus, by, number), ground.clock.now());
      },
      async list({ by, limit, cursor, ...filter }) {
        const page = pageOf(
          await numbers.page(scopeOf(by), filterOf(filter), pageFilter(cursor), pageSize(limit)),
          limit,
        );
        const now = ground.clock.now();
        return {
          count: page.items.length,
          numbers: page.items.map((n) => toRecord(n, now)),
          next_cursor: page.next_cursor,
        };
      },
      get: async ({ by, number_id }) =>
        toRecord((await numbers.find(scopeOf(by), number_id)) ?? notFound(), ground.clock.now()),
      update: async (params, { bus }) => toRecord(await changeNumber(ground, numbers, bus, params), ground.clock.now()),
      async remove(params) {
        await removeNumber(ground, numbers, params);
        return {};
      },
      async called({ phone_number, provider }) {
        const number = await numbers.called(phone_number, provider);
        return {
          number: number && {
            id: number._id,
            reseller_id: number.reseller_id,
            merchant_id: number.merchant_id,
            inbound_template_id: number.inbound_template_id ?? null,
          },
        };
      },
      reserveMany: async (asked) => ({ lines: await reserveMany(lines, asked) }),
      keepMany: async ({ lines: asked }) => ({ kept: await keepMany(lines, asked) }),
      availability: ({ country, ...party }) => lines.availability(party, country),
      async releaseMany({ holders }) {
        await releaseMany(lines, ground.bus, holders);
        return {};
      },
    },
  };
});
