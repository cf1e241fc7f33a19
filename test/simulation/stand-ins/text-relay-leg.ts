import type { TextLeg } from "../../../services/conversation/transport/port.ts";

export * from "../../../services/conversation/transport/text-relay-leg.ts";

/** In place of the relay's leg: the simulated socket is one already. */
export const textRelayLeg = (socket: TextLeg): TextLeg => socket;
