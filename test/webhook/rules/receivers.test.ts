import { Webhook } from "standardwebhooks";
import { isFromCallagent } from "../../../deploy/webhooks/verify.ts";
import { receivedCases, type ReceivedCase } from "../../fixtures/webhook-cases.ts";

const nowSeconds = Math.floor(Date.now() / 1000);
const cases = receivedCases(nowSeconds).map((one) => [one.title, one.isOurs, one] as const);
const headersOf = ({ id, timestamp, signature }: ReceivedCase) => ({
  "webhook-id": id,
  "webhook-timestamp": timestamp,
  "webhook-signature": signature,
});

function isOurs({ secret, body, ...one }: ReceivedCase): boolean {
  const headers = headersOf({ secret, body, ...one });
  try {
    const event = new Webhook(secret).verify(body, headers);
    return JSON.stringify(event) === JSON.stringify(JSON.parse(body));
  } catch {
    return false;
  }
}

describe("what a receiver takes for ours: the functions of docs/webhooks.md in other languages: npm run test:real -- receivers", () => {
  test.each(cases)("the TypeScript of docs/webhooks.md: %s: %p", (_title, expected, { secret, body, ...headers }) => {
    expect(isFromCallagent(secret, headers, body, nowSeconds)).toBe(expected);
    expect(isFromCallagent(secret, headers, Buffer.from(body), nowSeconds)).toBe(expected);
  });
  test.each(cases)("the official library of npm: %s: %p", (_title, expected, one) => {
    expect(isOurs(one)).toBe(expected);
  });
});
