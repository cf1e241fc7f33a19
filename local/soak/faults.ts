import type { CrashPoint } from "../../shared/process/crash.ts";
import type { BusProxy } from "../harness/bus-proxy.ts";
import type { Product } from "../harness/product.ts";
import { after } from "../harness/stage.ts";
import type { TcpProxy } from "../harness/tcp-proxy.ts";

/** What faults are made with. `random` gives numbers in [0, 1). */
export interface Lab {
  product: Product;
  store: TcpProxy;
  carrier: TcpProxy;
  bus: BusProxy;
  random(): number;
}

/** One fault: it begins, lasts and is over when this resolves. Gives what it did, in words. */
type Fault = (lab: Lab) => Promise<string>;

const OWNERS: Record<CrashPoint, string> = {
  K0: "leads",
  K1: "scheduler",
  K2: "scheduler",
  K3: "dialer",
  K4: "dialer",
  K5: "dialer",
  K6: "dialer",
  K7: "dialer",
  K8: "conversation",
  K9: "dialer",
  K10: "leads",
  K11: "webhook",
};
const CARRIER_FAULTS = [
  "drop_reply",
  "hang_reply",
  "error_after_placing",
  "rate_limit",
  "queue_delay",
  "drop_socket",
  "lose_callbacks",
  "duplicate_callbacks",
  "delay_callbacks",
];
const WRITES = ["update\u0000", "findAndModify\u0000", "insert\u0000"];
const LONGEST_PAUSE_MS = 12_000;
const OUTAGE_MS = 5000;
const LAG_MS = 300;
const LOST_REPLIES = 10;
const SHUFFLE_MS = 500;
const FAULT_USES = 3;

/** One of these; throws RangeError for an empty list. */
export function pick<T>(list: readonly T[], random: () => number): T {
  const found = list[Math.floor(random() * list.length)];
  if (found === undefined) throw new RangeError("nothing to choose from");
  return found;
}

const child = ({ product }: Lab, name: string) =>
  product.stack.children.get(name) ??
  (() => {
    throw new Error(`there is no child ${name}`);
  })();
const anyService = (lab: Lab): string => pick(lab.product.stack.serviceChildren, lab.random);
const upTo = (lab: Lab, ms: number): number => Math.round(ms * (0.2 + 0.8 * lab.random()));

const killed: Fault = async (lab) => {
  const name = anyService(lab);
  child(lab, name).kill("SIGKILL");
  return `SIGKILL of ${name}`;
};

const replaced: Fault = async (lab) => {
  const name = anyService(lab);
  await child(lab, name).down("SIGTERM");
  await child(lab, name).up();
  return `${name} replaced after SIGTERM`;
};

const dying: Fault = async (lab) => {
  const [point, name] = pick(Object.entries(OWNERS), lab.random);
  await child(lab, name).down("SIGKILL");
  await child(lab, name).up({ CRASH_AT: point });
  return `${name} dies at ${point} next`;
};

const stopped: Fault = async (lab) => {
  const [name, ms] = [anyService(lab), upTo(lab, LONGEST_PAUSE_MS)];
  child(lab, name).kill("SIGSTOP");
  await after(ms);
  child(lab, name).kill("SIGCONT");
  return `${name} stood still for ${ms} ms`;
};

const storeReset: Fault = async ({ store }) => {
  store.reset();
  return "connections to the store reset";
};
const storeLost: Fault = async ({ store }) => {
  store.loseReplies((request) => WRITES.some((word) => request.includes(word)), LOST_REPLIES);
  return `${LOST_REPLIES} replies of the store will be lost`;
};
const storeSlow: Fault = async (lab) => {
  const ms = upTo(lab, OUTAGE_MS);
  lab.store.set("both", { latencyMs: LAG_MS });
  await after(ms);
  lab.store.set("both", { latencyMs: 0 });
  return `store ${2 * LAG_MS} ms slower for ${ms} ms`;
};
const storeAway: Fault = async (lab) => {
  const ms = upTo(lab, OUTAGE_MS);
  await lab.store.refuse(true);
  await after(ms);
  await lab.store.refuse(false);
  return `store away for ${ms} ms`;
};

const eventsLost: Fault = async (lab) => {
  const ms = upTo(lab, OUTAGE_MS);
  lab.bus.events(() => []);
  await after(ms);
  lab.bus.events(null);
  return `all events lost for ${ms} ms`;
};
const eventsTwice: Fault = async (lab) => {
  const ms = upTo(lab, OUTAGE_MS);
  lab.bus.events(() => [lab.random() * SHUFFLE_MS, lab.random() * SHUFFLE_MS]);
  await after(ms);
  lab.bus.events(null);
  return `all events twice and shuffled for ${ms} ms`;
};
const parted: Fault = async (lab) => {
  const [name, ms] = [anyService(lab), upTo(lab, LONGEST_PAUSE_MS)];
  lab.bus.partition(name, true);
  await after(ms);
  lab.bus.partition(name, false);
  return `${name} cut off from the bus for ${ms} ms`;
};
const busAway: Fault = async (lab) => {
  const ms = upTo(lab, OUTAGE_MS);
  lab.bus.away(true);
  await child(lab, "nats").down("SIGKILL");
  await after(ms);
  await child(lab, "nats").up();
  lab.bus.away(false);
  return `bus killed and away for ${ms} ms`;
};

const carrierReset: Fault = async ({ carrier }) => {
  carrier.reset();
  return "connections to the carrier reset";
};
const carrierAway: Fault = async (lab) => {
  const ms = upTo(lab, OUTAGE_MS);
  await lab.carrier.refuse(true);
  await after(ms);
  await lab.carrier.refuse(false);
  return `carrier away for ${ms} ms`;
};
const carrierOdd: Fault = async (lab) => {
  const kind = pick(CARRIER_FAULTS, lab.random);
  await lab.product.injectFault({ kind, times: FAULT_USES });
  return `carrier: ${kind}, ${FAULT_USES} times`;
};

/** Every kind of fault there is; what is listed twice comes twice as often. */
export const FAULTS: readonly Fault[] = [
  killed,
  killed,
  replaced,
  dying,
  dying,
  stopped,
  storeReset,
  storeLost,
  storeSlow,
  storeAway,
  eventsLost,
  eventsTwice,
  parted,
  busAway,
  carrierReset,
  carrierAway,
  carrierOdd,
  carrierOdd,
];
