import { MongoClient, type Collection } from "mongodb";
import numbers from "../../services/numbers/numbers.service.ts";
import type { Bus, EventOf, ParamsOf, ResultOf } from "../../shared/bus.ts";
import { overhearing } from "../support/overheard.ts";
import { setStage, standIn, type Stage } from "../support/stage.ts";

/** A number as it is stored. */
export interface StoredNumber {
  _id: string;
  removed: string | null;
  max_concurrent_calls: number;
  slots: { holder: string; until: Date }[];
}

/** The numbers service alone on a bus, its collection, and what it broadcast. Resellers are named `rs-…`, their merchants `<reseller>.…`. */
export interface NumbersStage {
  stage: Stage;
  stored: Collection<StoredNumber>;
  freed: EventOf<"numbers.freed">[];
}

const merchants = standIn("merchants", {
  lookup: ({ reseller_id, merchant_id }) => ({
    reseller: reseller_id.startsWith("rs-"),
    merchant: merchant_id?.startsWith(`${reseller_id}.`) ?? false,
  }),
});

/** The template that any owner's numbers may have; no other exists. */
export const TEMPLATE = "6f9619ff-8b86-4d01-b42d-00cf4fc964ff";
const config = standIn("config", {
  mayTakeCalls: ({ reseller_id, template_id }) => ({ may: template_id === TEMPLATE && reseller_id !== "rs-poor" }),
});

/** Sets the stage before this file's tests and strikes it after them; what is in it may be used in tests only. */
export function setNumbersStage(): NumbersStage {
  const freed: EventOf<"numbers.freed">[] = [];
  let set: { stage: Stage; client: MongoClient } | null = null;
  const standing = (): { stage: Stage; client: MongoClient } =>
    set ??
    (() => {
      throw new Error("the numbers' stage is set in tests only");
    })();
  beforeAll(async () => {
    const stage = await setStage({ services: [numbers, merchants, config, overhearing("numbers.freed", freed)] });
    set = { stage, client: await MongoClient.connect(stage.uri) };
  });
  afterAll(async () => {
    await set?.client.close();
    await set?.stage.stop();
  });
  return {
    freed,
    get stage() {
      return standing().stage;
    },
    get stored() {
      return standing().client.db().collection<StoredNumber>("numbers");
    },
  };
}

let serial = 0;
/** A number nobody has yet. */
export const US = (): string => `+1415555${String(serial++).padStart(4, "0")}`;
export const GB = (): string => `+44207946${String(serial++).padStart(4, "0")}`;
/** A reseller of its own. */
export const tenant = (): string => `rs-${serial++}`;

/** A line that was taken, or null. */
export type Line = ResultOf<"numbers.reserveMany">["lines"][number];
type Asked = Pick<ParamsOf<"numbers.reserveMany">, "reseller_id"> &
  Partial<Omit<ParamsOf<"numbers.reserveMany">, "wants"> & { to: string }>;

/** Takes one line for a holder. */
export const reserveOne = async (bus: Bus, holder: string, { to = "+14155559999", ...asked }: Asked): Promise<Line> =>
  (
    await bus.call("numbers.reserveMany", {
      merchant_id: null,
      provider: "PROVIDER_ONE",
      lease_seconds: 60,
      same_country: false,
      ...asked,
      wants: [{ to, holder }],
    })
  ).lines[0] ?? null;

/** Frees one holder's line. */
export const releaseOne = (bus: Bus, holder: string): Promise<ResultOf<"numbers.releaseMany">> =>
  bus.call("numbers.releaseMany", { holders: [holder] });
