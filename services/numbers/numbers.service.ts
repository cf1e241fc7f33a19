import { service, type Bus } from "../../shared/bus.ts";
import { fail } from "../../shared/errors.ts";
import { maskPhone } from "../../shared/log.ts";
import { pageFilter, pageOf, pageSize } from "../../shared/page.ts";
import { countryOf } from "../../shared/phone.ts";
import { newNumber, toRecord, withStatus } from "./number-views.ts";
import { numberSchema } from "./numbers.model.ts";
import { numbersRepository } from "./numbers.repository.ts";
import { checkOwner, ownerFor, visibleTo, type Owner } from "./owning.ts";

async function requireOwner(bus: Bus, owner: Owner): Promise<void> {
  if (owner.reseller_id === null) return;
  checkOwner(owner, await bus.call("merchants.lookup", { reseller_id: owner.reseller_id, ...(owner.merchant_id === null ? {} : { merchant_id: owner.merchant_id }) }));
}

/** Outbound numbers and who holds their lines (interface.md 2.5, 3.2, 4.3; reliability.md 3.6). */
export default service("numbers", (ground) => {
  const numbers = numbersRepository(ground.store().model("numbers", numberSchema), ground.random);

  return {
    actions: {
      async create(params, { bus }) {
        const owner = ownerFor(params.by, params);
        const number = newNumber(ground.ids.uuid(), params, owner, ground.clock.now());
        await requireOwner(bus, owner);
        if (!await numbers.insert(number)) fail("NUMBER_EXISTS", "This phone number is already registered under this owner; change the existing one instead.", { errors: [{ path: "phone_number", message: "already exists" }] });
        ground.log.info({ event: "number.created", number_id: number._id, phone: maskPhone(number.phone_number), provider: number.provider, by: params.by.id }, "an outbound number was added");
        bus.broadcast("numbers.freed", { provider: number.provider });
        return toRecord(number, ground.clock.now());
      },
      async list({ by, provider, status, limit, cursor }) {
        const filters = [visibleTo(by), provider === undefined ? {} : { provider }, withStatus(status)];
        const page = pageOf(await numbers.page(filters, pageFilter(cursor), pageSize(limit)), limit);
        const now = ground.clock.now();
        return { count: page.items.length, numbers: page.items.map((n) => toRecord(n, now)), next_cursor: page.next_cursor };
      },
      async reserve({ reseller_id, merchant_id, provider, to, holder, lease_seconds }) {
        const line = await numbers.reserve({ reseller_id, merchant_id, provider, country: countryOf(to) }, holder, lease_seconds);
        return line && { id: line._id, phone_number: line.phone_number, provider: line.provider };
      },
      async release({ holder }, { bus }) {
        const providers = new Set((await numbers.release(holder)).map((number) => number.provider));
        for (const provider of providers) bus.broadcast("numbers.freed", { provider });
        return {};
      },
      async any(wanted) {
        return { any: await numbers.any(wanted) };
      },
    },
  };
});
