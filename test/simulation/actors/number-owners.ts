import { codeOf } from "../../../shared/errors.ts";
import type { By } from "../../../shared/contracts/records/identity.ts";
import type { NumberDoc } from "../../../services/numbers/numbers.model.ts";
import type { Scene } from "../engine/scene.ts";
import type { Platform } from "./platform.ts";

const ADMIN: By = { kind: "user", id: "ann", role: "admin", reseller_id: null, merchant_id: null };
/** Numbers that are asked for: those of the carrier's account, and some that are not. */
const PHONES = Array.from({ length: 7 }, (_, i) => `+1415555019${i}`);
const PROVIDERS = ["PROVIDER_ONE", "PROVIDER_TWO"] as const;
const QUARRELS_MAX = 5;
/** The number that tenants without one of their own fall back to; it is never deleted. */
const SHARED = "00000000-0000-4000-a000-000000000000";

/**
 * Resellers and admins who quarrel over phone numbers until `untilMs`: several add one at the same time, numbers go from one to another and away,
 * also at the very moment at which slots are reserved.
 */
export function planNumberOwners(scene: Scene, platform: Platform, untilMs: number): void {
  const { stage, bus, database } = scene;
  const { world } = stage;
  const { random } = world;
  const at = (ms: number, act: () => void): void => {
    world.after(ms, platform.gateway.life, act);
  };
  const ask = async (action: string, params: object): Promise<void> => {
    const answer = await bus
      .face(platform.gateway.life)
      .call(action, params)
      .then(
        () => "done",
        (error: unknown) => codeOf(error),
      );
    stage.count(`${action}: ${answer}`);
    world.tell("operator", `${action} ${JSON.stringify(params).slice(0, 160)}: ${answer}`);
  };
  const owner = (): string | null => (random.chance(0.3) ? null : random.pick(platform.tenants).reseller_id);
  const some = (): NumberDoc => random.pick(database.docs<NumberDoc>("numbers"));

  const add = (phone_number: string): Promise<void> => {
    const { by } = random.pick(platform.tenants);
    const whose = random.chance(0.5) ? { by } : { by: ADMIN, reseller_id: owner() };
    return ask("numbers.create", { ...whose, phone_number, provider: random.pick(PROVIDERS) });
  };
  const quarrel = (): void => {
    const phone = random.pick(PHONES);
    for (let i = 0, n = random.whole(1, 3); i < n; i++) at(random.between(0, 20), () => void add(phone));
  };
  const allot = (): void => {
    const { _id } = some();
    if (_id !== SHARED) void ask("numbers.update", { by: ADMIN, number_id: _id, number: { reseller_id: owner() } });
  };
  const remove = (): void => {
    const { _id } = some();
    if (_id !== SHARED) void ask("numbers.remove", { by: ADMIN, number_id: _id });
  };

  for (const act of [quarrel, allot, remove])
    for (let i = 0, n = random.whole(1, QUARRELS_MAX); i < n; i++) at(random.between(1000, untilMs), act);

  // between a reading of the number and the reservation of its slot
  scene.onWrite = ({ collection, verb, filter }) => {
    if (collection !== "numbers" || verb !== "change" || !("slots.holder" in filter)) return;
    if (world.elapsed > untilMs || !random.chance(0.3)) return;
    const { _id } = filter;
    database.collections.get("numbers")?.change({ _id }, { $set: { reseller_id: owner() } });
    stage.count("number changes hands before its slot is reserved");
  };
}

/** The weather is fine: the number that all may use is everybody's again. */
export function settleNumberOwners({ database }: Scene): void {
  database.collections.get("numbers")?.change({ _id: SHARED }, { $set: { reseller_id: null } });
}
