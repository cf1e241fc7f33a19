import { requestedRange } from "../../../services/gateway/recording-download.ts";

test.each<[string | undefined, number, boolean, object]>([
  [undefined, 100, true, { kind: "whole" }],
  ["bytes=0-9", 100, true, { range: { start: 0, end: 9 } }],
  ["bytes=90-", 100, true, { range: { start: 90, end: 99 } }],
  ["bytes=-10", 100, true, { range: { start: 90, end: 99 } }],
  ["bytes=-200", 100, true, { range: { start: 0, end: 99 } }],
  ["bytes=50-500", 100, true, { range: { start: 50, end: 99 } }],
  ["bytes=99-99", 100, true, { range: { start: 99, end: 99 } }],
  ["bytes=100-", 100, true, { kind: "beyond" }],
  ["bytes=100-200", 100, true, { kind: "beyond" }],
  ["bytes=-0", 100, true, { kind: "beyond" }],
  ["bytes=0-", 0, true, { kind: "beyond" }],
  ["bytes=9-5", 100, true, { kind: "whole" }],
  ["bytes=0-1,5-6", 100, true, { kind: "whole" }],
  ["items=0-1", 100, true, { kind: "whole" }],
  ["bytes=-", 100, true, { kind: "whole" }],
  ["bytes=a-b", 100, true, { kind: "whole" }],
  ["bytes=0-9", 100, false, { kind: "whole" }],
  [`bytes=0-${"9".repeat(16)}`, 100, true, { kind: "whole" }],
  [`bytes=0-${"9".repeat(9000)}`, 100, true, { kind: "whole" }],
  ["BYTES=0-0", 100, true, { range: { start: 0, end: 0 } }],
])("Range %p of %p bytes, same thing: %p", (header, bytes, thing, asked) =>
  expect(requestedRange(header, bytes, thing)).toMatchObject(asked),
);
