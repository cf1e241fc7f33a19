import { expect, test } from "@jest/globals";
import { Value } from "typebox/value";
import { plivoStream } from "../../../services/dialer/carriers/plivo/stream.ts";
import { telnyxStream } from "../../../services/dialer/carriers/telnyx/stream.ts";
import { twilioStream } from "../../../services/dialer/carriers/twilio/stream.ts";
import { StreamDialect } from "../../../shared/contracts/records/stream-dialect.ts";

test.each([
  ["Twilio", twilioStream],
  ["Plivo", plivoStream],
  ["Telnyx", telnyxStream],
])("%s describes its stream as the contract wants it, in less than 2 KB", (_name, stream) => {
  expect([...Value.Errors(StreamDialect, stream)]).toEqual([]);
  expect(Buffer.byteLength(JSON.stringify(stream))).toBeLessThan(2048);
  expect(stream.send.dtmf === null).toBe(stream.dtmf !== "message");
});
