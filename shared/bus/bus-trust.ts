import type { ServiceBroker } from "moleculer";
import type { By } from "../contracts/records/identity.ts";
import type { ServiceName } from "../contracts/index.ts";
import { fail } from "../errors.ts";
import { isRecord } from "../json.ts";
import { isServiceName } from "../process/node-id.ts";
import { depsOf, type ProcessDeps } from "../process/process-deps.ts";
import { sparseLog } from "../process/sparse-log.ts";
import { busSigners, type Signers } from "./bus-signers.ts";
import { mayCall, mayEmit } from "./rights.ts";
import { signatures, type Signatures } from "./signatures.ts";

/** The header of a request or event in which its sender's token travels; a receiver can't change it for others, as it could ctx.meta. */
const HEADER = "callagent-caller";

/** What came over the bus: its headers, and the node that says it sent it. */
export interface Arrived {
  headers: unknown;
  nodeID: string | null;
}

/** Who is believed on the bus. */
export interface BusTrust {
  /** Headers of a call of this action; undefined: this process has no key. */
  callHeaders(action: string): Record<string, string> | undefined;
  eventHeaders(): Record<string, string> | undefined;
  /** FORBIDDEN for a call that its caller may not make, or on behalf of somebody whom auth has not signed. */
  admit(action: string, params: unknown, arrived: Arrived): void;
  /** False for an event that its sender may not emit. */
  hears(event: string, arrived: Arrived): boolean;
  /** The asker with auth's proof of it; as given where this is not auth, or calls are not signed. */
  proven(by: By): By;
  /** Throws where this process's key is another service's: it could call nothing, and nothing would be told why. */
  mustBe(service: ServiceName): void;
}

const headersWith = (token: string | undefined): Record<string, string> | undefined =>
  token === undefined ? undefined : { [HEADER]: token };

/** The service of an action. */
function ownerOf(action: string): ServiceName | null {
  const owner = action.slice(0, action.indexOf("."));
  return isServiceName(owner) ? owner : null;
}

const isBy = (value: unknown): value is By => isRecord(value) && typeof value["id"] === "string";

/** Why a call is refused; null: it is admitted. */
function refusalOf(known: Signatures | null, action: string, params: unknown, token: unknown) {
  const owner = ownerOf(action);
  const caller = typeof token === "string" && owner !== null ? (known?.callerOf(token, owner) ?? null) : null;
  if (known === null || caller === null)
    return { caller, why: "its caller's token is missing, expired or not signed for it" };
  if (!mayCall(caller, action)) return { caller, why: `${caller} has no right to it` };
  if (isRecord(params) && "by" in params && !(isBy(params["by"]) && known.isProven(params["by"])))
    return { caller, why: "auth has not signed who asks" };
  return null;
}

/** What is believed with these keys; `strict`: calls and events without a signature are refused. */
export function busTrust(
  signers: Signers | null,
  strict: boolean,
  deps: Pick<ProcessDeps, "clock" | "log" | "env">,
): BusTrust {
  const known = signers && signatures(signers, deps.env.NAMESPACE, deps.clock);
  const refusals = sparseLog(deps.clock);
  const log = deps.log.child({ service: "bus" });
  const tell = (what: Record<string, unknown>, why: string, sender: string | null): void =>
    refusals.note(JSON.stringify([what, why]), (times) =>
      log.warn({ event: "bus.forbidden", ...what, sender, why, times }, "refused what came over the bus"),
    );
  const tokenIn = ({ headers }: Arrived): unknown => (isRecord(headers) ? headers[HEADER] : undefined);
  return {
    callHeaders: (action) => {
      const owner = ownerOf(action);
      return headersWith(owner === null ? undefined : known?.tokenFor(owner));
    },
    eventHeaders: () => headersWith(known?.tokenFor("events")),
    admit(action, params, arrived) {
      if (!strict) return;
      const refused = refusalOf(known, action, params, tokenIn(arrived));
      if (refused === null) return;
      tell({ action, caller: refused.caller }, refused.why, arrived.nodeID);
      fail("FORBIDDEN", `${action} is refused: ${refused.why}.`);
    },
    hears(event, arrived) {
      if (!strict) return true;
      const token = tokenIn(arrived);
      const caller = typeof token === "string" ? (known?.callerOf(token, "events") ?? null) : null;
      if (caller !== null && mayEmit(caller, event)) return true;
      tell(
        { bus_event: event, caller },
        caller === null ? "its sender's token is missing, expired or not signed" : `${caller} has no right to it`,
        arrived.nodeID,
      );
      return false;
    },
    proven: (by) => (known !== null && signers?.name === "auth" ? { ...by, proof: known.proofOf(by) } : by),
    mustBe(service) {
      if (strict && signers?.name !== service)
        throw new Error(
          `BUS_TRUST is signed, and the key of this process is that of ${signers?.name ?? "nobody"}, not of ${service}: run one service in a process, with its own key`,
        );
    },
  };
}

const trusts = new WeakMap<object, BusTrust>();

/** Who is believed on this broker's bus, by its environment. */
export function trustOf(broker: ServiceBroker): BusTrust {
  const made = trusts.get(broker);
  if (made) return made;
  const deps = depsOf(broker);
  const trust = busTrust(busSigners(deps.env).signers, deps.env.BUS_TRUST === "signed", deps);
  trusts.set(broker, trust);
  return trust;
}
