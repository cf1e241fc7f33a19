import type { WebhookClient } from "../../../services/webhook/deliveries/webhook-request.ts";
import { currentLife, theScene } from "../engine/scene.ts";

export * from "../../../services/webhook/deliveries/webhook-request.ts";

/** In place of the webhook service's HTTP client: the simulated receiver. */
export const webhookClient = (): WebhookClient => theScene().receiver.sender(currentLife());
