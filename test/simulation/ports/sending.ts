import type { Sender } from "../../../services/webhook/sending.ts";
import { currentLife, theScene } from "../scene.ts";

export * from "../../../services/webhook/sending.ts";

/** In place of the webhook service's sender: the simulated receiver. */
export const httpSender = (): Sender => theScene().receiver.sender(currentLife());
