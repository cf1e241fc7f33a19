import type { Preparation, Prepared } from "../../../shared/contracts/conversation.ts";
import type { CallDoc } from "../call/calls.model.ts";
import type { CarrierPort, MediaTarget } from "../carriers/carrier-port.ts";
import type { DialerParts } from "../deps.ts";

/** True where the conversation service is asked to record: it can where the conversation runs over audio; else the carrier does. */
export const isRecordedByUs = ({ env }: Pick<DialerParts, "env">, record: boolean): boolean =>
  record && env.RECORDING_SOURCE === "own";

/** True where the conversation service records this call: the carrier is not to. */
export const isOwnRecording = (
  deps: Pick<DialerParts, "env">,
  { order, media, session }: Pick<CallDoc, "order" | "media" | "session">,
): boolean => (session ? (order?.record ?? false) : media === "audio" && isRecordedByUs(deps, order?.record ?? false));

/** What a conversation gets of its carrier: its name, and how its media stream works. */
export const carrierFacts = ({
  id,
  stream,
}: Pick<CarrierPort, "id" | "stream">): Pick<Preparation, "carrier" | "stream"> => ({
  carrier: id,
  ...(stream === undefined ? {} : { stream }),
});

/** Where the conversation waits, as the carrier gets it. */
export const targetOf = ({ kind, media_url, token, language, voice }: Prepared): MediaTarget => ({
  kind,
  url: media_url,
  token,
  language,
  voice,
});
