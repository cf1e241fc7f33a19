import { randomUUID } from "node:crypto";
import type { AnswerOf } from "../../../deploy/client/shapes.ts";
import type { Client } from "../api-client.ts";
import { samplePayload } from "../sample/sample-payload.ts";

/** What of a template its test session is made of. */
export type TalkTemplate = Pick<
  AnswerOf<"GET", "/templates/{id}">,
  "id" | "name" | "is_active" | "reseller_id" | "merchant_id" | "payload_schema"
>;

/** Pushes a lead of mode RTC_TEST, and makes the link behind which a person talks. ApiFailure. */
export async function talkLink(
  client: Client,
  { id, reseller_id, merchant_id, payload_schema }: TalkTemplate,
  merchant: string | undefined,
  given: Readonly<Record<string, unknown>>,
): Promise<AnswerOf<"POST", "/leads/{lead_id}/join-link"> & { lead_id: string }> {
  const { lead_call_tracker_id: lead_id } = await client.ask("POST", "/leads", {
    body: {
      request_id: `talk-${randomUUID()}`,
      template_id: id,
      reseller_id,
      merchant_id: merchant ?? merchant_id ?? "",
      execution_mode: "RTC_TEST",
      payload: samplePayload(payload_schema, given),
    },
  });
  return { lead_id, ...(await client.ask("POST", "/leads/{lead_id}/join-link", { path: { lead_id } })) };
}
