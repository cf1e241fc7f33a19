import { service, type Handlers, type ServiceDeps } from "../../shared/bus/bus.ts";
import { scopeOf } from "../../shared/contracts/records/identity.ts";
import { outboxHandOver, type OutboxHandOver } from "../../shared/database/outbox-hand-over.ts";
import { readPage } from "../../shared/page.ts";
import { remembered } from "../../shared/metrics/remembered.ts";
import { addNumber, changeNumber, notFound, removeNumber } from "./number-changes.ts";
import { filterOf, newNumber, toRecord } from "./number-views.ts";
import { releaseMany, renewMany, reserveMany } from "./slot-requests.ts";
import { numberSchema } from "./numbers.model.ts";
import { numberSlots } from "./number-slots.repository.ts";
import { numberRecords, type NumberRecords } from "./numbers.repository.ts";
import { mayAdd, ownerFor } from "./ownership.ts";

/** How often the slots of all numbers are counted, at most. */
const TOTALS_EVERY_MS = 15_000;

/** Outbound numbers, and the leases of their slots for concurrent calls. */
export default service("numbers", (deps) => {
  const model = deps.store().model("numbers", numberSchema);
  const time = () => deps.storeClock.database();
  const numbers = numberRecords(model, time);
  const handOver = outboxHandOver(deps, model, "number", (ids) => numbers.dropRemoved(ids));
  const slots = numberSlots(model, deps.random, time);
  const totals = remembered(deps.clock, TOTALS_EVERY_MS, () => slots.totals());

  deps.metrics.gauge("callagent_number_slots", async () =>
    (await totals()).flatMap(({ provider, slots: all, free }) => [
      { labels: { provider, state: "free" }, value: free },
      { labels: { provider, state: "taken" }, value: Math.max(0, all - free) },
    ]),
  );

  return {
    actions: {
      ...changeActions(deps, numbers, handOver),
      async list({ by, limit, cursor, ...filter }) {
        const { items, next_cursor } = await readPage(
          { limit, cursor },
          (after, size) => numbers.page(scopeOf(by), filterOf(filter, time()), after, size),
          (n) => toRecord(n, deps.clock.now()),
        );
        return { count: items.length, numbers: items, next_cursor };
      },
      get: async ({ by, number_id }) =>
        toRecord((await numbers.find(scopeOf(by), number_id)) ?? notFound(), deps.clock.now()),
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
      reserveMany: async (asked) => ({ lines: await reserveMany(slots, asked) }),
      keepMany: async ({ lines }) => ({ kept: await renewMany(slots, lines) }),
      availability: ({ country, ...party }) => slots.availability(party, country),
      async releaseMany({ holders }) {
        await releaseMany(slots, deps.bus, holders);
        return {};
      },
    },
    started: () => handOver.start(),
    stopped: () => handOver.stop(),
  };
});

/** The actions that change a number. */
const changeActions = (
  deps: ServiceDeps,
  numbers: NumberRecords,
  handOver: Pick<OutboxHandOver, "nudge">,
): Handlers<"numbers", "create" | "update" | "remove"> => ({
  async create(params, { bus }) {
    const { by } = params;
    mayAdd(by, deps.env.NUMBERS_ADDED_BY);
    const number = newNumber(deps.ids.uuid(), params, ownerFor(by, params), deps.clock.now());
    const added = await addNumber(deps, numbers, bus, by, number);
    handOver.nudge();
    return toRecord(added, deps.clock.now());
  },
  async update(params, { bus }) {
    const changed = await changeNumber(deps, numbers, bus, params);
    handOver.nudge();
    return toRecord(changed, deps.clock.now());
  },
  async remove(params, { bus }) {
    await removeNumber(deps, numbers, bus, params);
    handOver.nudge();
    return {};
  },
});
