import type { ServiceBroker } from "moleculer";
import { drainOf } from "../bus/drain.ts";

/** Why a process is not ready: the part of it, and a sentence. */
export interface Fault {
  part: string;
  reason: string;
}

/** Whether a process can do its work. It looks at the process itself and at what it stands on, never at other services: one that is away must not take the others out. */
export interface Readiness {
  /** A part of the process: null while it can work, else why not. */
  add(part: string, fault: () => string | null): void;
  /** Everything that is wrong at this moment; none: it is ready. */
  faults(): Fault[];
}

function createReadiness(broker: ServiceBroker): Readiness {
  const parts = new Map<string, () => string | null>();
  const own = (): string | null => {
    if (drainOf(broker).draining.aborted) return "it was told to end, and takes no new work";
    return broker.started ? null : "it has not started yet";
  };
  parts.set("process", own);
  return {
    add: (part, fault) => void parts.set(part, fault),
    faults: () =>
      [...parts].flatMap(([part, fault]) => {
        const reason = fault();
        return reason === null ? [] : [{ part, reason }];
      }),
  };
}

const known = new WeakMap<object, Readiness>();

/** The readiness of a broker's process. */
export function readinessOf(broker: ServiceBroker): Readiness {
  const readiness = known.get(broker) ?? createReadiness(broker);
  known.set(broker, readiness);
  return readiness;
}
