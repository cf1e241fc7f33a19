import type { Bus, ParamsOf, ResultOf } from "../../shared/bus.ts";

/** A line that was taken, or null. */
export type Line = ResultOf<"numbers.reserveMany">["lines"][number];
type Asked = Pick<ParamsOf<"numbers.reserveMany">, "reseller_id"> & Partial<Omit<ParamsOf<"numbers.reserveMany">, "wants"> & { to: string }>;

/** Takes one line for a holder. */
export const reserveOne = async (bus: Bus, holder: string, { to = "+14155559999", ...asked }: Asked): Promise<Line> =>
  (await bus.call("numbers.reserveMany", { merchant_id: null, provider: "PROVIDER_ONE", lease_seconds: 60, same_country: false, ...asked, wants: [{ to, holder }] })).lines[0] ?? null;

/** Frees one holder's line. */
export const releaseOne = (bus: Bus, holder: string): Promise<ResultOf<"numbers.releaseMany">> => bus.call("numbers.releaseMany", { holders: [holder] });
