import type { ServiceSchema } from "moleculer";
import { service, type EventName, type EventOf, type Implementation } from "../../shared/bus.ts";
import { contracts } from "../../shared/contracts/index.ts";

/** A stand-in for a service the stage does not run that writes down every event of this name; its actions are not set up. */
export function overhearing<N extends EventName>(event: N, into: EventOf<N>[]): ServiceSchema {
  const missing: object = Object.fromEntries(
    Object.keys(contracts.conversation.actions).map((a) => [
      a,
      () => {
        throw new Error(`stand-in conversation.${a} is not set up`);
      },
    ]),
  );
  const events = {
    [event]: (heard: EventOf<N>) => {
      into.push(heard);
    },
  } as NonNullable<Implementation<"conversation">["events"]>;
  return service("conversation", () => ({ actions: missing as Implementation<"conversation">["actions"], events }), {
    listens: [event],
  });
}
