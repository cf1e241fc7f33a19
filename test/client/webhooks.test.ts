import { Webhook } from "standardwebhooks";
import { verifyWebhook, WebhookRefused } from "../../deploy/client/webhooks.ts";

const SECRET = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw";
const NEXT = "whsec_C2FVsBQIhrscChlQIMV+b5sSYspob7oD";
const NOW = new Date("2026-03-02T09:00:00Z");
const SECONDS = NOW.getTime() / 1000;
const BODY = JSON.stringify({ type: "lead.finished", timestamp: NOW.toISOString(), data: { order_id: "ö-1" } });

/** Headers as the reference library of Standard Webhooks signs them. */
const signed = (secret: string, at = NOW, body = BODY): Record<string, string> => ({
  "webhook-id": "msg_1",
  "webhook-timestamp": String(Math.floor(at.getTime() / 1000)),
  "webhook-signature": new Webhook(secret).sign("msg_1", at, body),
});

describe("verifyWebhook", () => {
  test.each([
    ["text", BODY, signed(SECRET)],
    ["bytes", Buffer.from(BODY), signed(SECRET)],
    ["headers of fetch", BODY, new Headers(signed(SECRET))],
    ["a secret in rotation", BODY, signed(NEXT)],
    ["a clock four minutes off", BODY, signed(SECRET, new Date(NOW.getTime() - 240_000))],
  ])("believes what the reference library signed: %s", (_, body, headers) => {
    expect(verifyWebhook(headers, body, [SECRET, NEXT], SECONDS)).toMatchObject({
      type: "lead.finished",
      data: { order_id: "ö-1" },
    });
  });

  test.each([
    ["a changed body", `${BODY} `, signed(SECRET), /no signature/],
    ["another secret", BODY, signed("whsec_AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA"), /no signature/],
    ["an old request", BODY, signed(SECRET, new Date(NOW.getTime() - 301_000)), /300 s/],
    ["no headers", BODY, {}, /missing/],
    ["a time that is no number", BODY, { ...signed(SECRET), "webhook-timestamp": "soon" }, /300 s/],
    ["signed text that is no event", "[]", signed(SECRET, NOW, "[]"), /no event/],
    ["signed text that is no JSON", "x", signed(SECRET, NOW, "x"), /no event/],
  ])("refuses %s", (_, body, headers, said) => {
    const verify = (): unknown => verifyWebhook(headers, body, SECRET, SECONDS);
    expect(verify).toThrow(WebhookRefused);
    expect(verify).toThrow(said);
  });
});
