import type { MediaLeg } from "./port.ts";
import { plivoLeg } from "./plivo-leg.ts";
import { streamLeg, type MediaSocket } from "./stream-leg.ts";
import { telnyxLeg } from "./telnyx-leg.ts";
import { twilioLeg } from "./twilio-leg.ts";

/** Whose stream is spoken on a socket; none: nobody's, so that whatever comes is refused. */
export type StreamWord = "twilio" | "plivo" | "telnyx" | "none";

const refuse = (socket: MediaSocket): MediaLeg =>
  streamLeg(socket, {
    returns_cleared: true,
    read: (_frame, told) => told.start("", null),
    media: () => "",
    mark: () => "",
    clear: () => "",
  });

const LEGS: Readonly<Record<StreamWord, (socket: MediaSocket) => MediaLeg>> = {
  twilio: twilioLeg,
  plivo: plivoLeg,
  telnyx: telnyxLeg,
  none: refuse,
};

/** Opens the leg of a carrier's stream of sound. */
export const audioLeg = (carrier: StreamWord, socket: MediaSocket): MediaLeg => LEGS[carrier](socket);
