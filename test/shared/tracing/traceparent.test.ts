import * as fc from "fast-check";
import { traceIssues, traceRatio } from "../../../shared/tracing/trace-variables.ts";
import { formatTraceparent, isChosen, parseTraceparent, spanIdOf } from "../../../shared/tracing/traceparent.ts";

const TRACE = "0af7651916cd43dd8448eb211c80319c";
const SPAN = "b7ad6b7169203331";

describe("the header traceparent (W3C Trace Context, 3.2)", () => {
  test.each([
    ["sampled", `00-${TRACE}-${SPAN}-01`, true],
    ["not sampled", `00-${TRACE}-${SPAN}-00`, false],
    ["other flags beside", `00-${TRACE}-${SPAN}-03`, true],
    ["a later version, with more behind it", `cc-${TRACE}-${SPAN}-01-what-the-future-brings`, true],
  ])("is read: %s", (_, text, sampled) => {
    expect(parseTraceparent(text)).toEqual({ trace_id: TRACE, span_id: SPAN, sampled });
  });

  test.each([
    ["nothing", ""],
    ["a version that can't be", `ff-${TRACE}-${SPAN}-01`],
    ["more than version 00 has", `00-${TRACE}-${SPAN}-01-more`],
    ["no trace", `00-${"0".repeat(32)}-${SPAN}-01`],
    ["no span", `00-${TRACE}-${"0".repeat(16)}-01`],
    ["capitals", `00-${TRACE.toUpperCase()}-${SPAN}-01`],
    ["a trace that is too short", `00-${TRACE.slice(1)}-${SPAN}-01`],
    ["a later version, with something stuck to it", `cc-${TRACE}-${SPAN}-01x`],
    ["two of them", `00-${TRACE}-${SPAN}-01, 00-${TRACE}-${SPAN}-01`],
  ])("counts as none: %s", (_, text) => {
    expect(parseTraceparent(text)).toBeNull();
  });

  test("any text is read or counts as none, and what is read is written as it was", () => {
    fc.assert(
      fc.property(fc.oneof(fc.string({ maxLength: 80 }), fc.stringMatching(/^[0-9a-f-]{50,60}$/)), (text) => {
        const at = parseTraceparent(text);
        if (at) expect(parseTraceparent(formatTraceparent(at))).toEqual(at);
      }),
    );
  });
});

test("a span's id follows from its trace and its key", () => {
  expect(spanIdOf(TRACE, "call a.1")).toMatch(/^[0-9a-f]{16}$/);
  expect(spanIdOf(TRACE, "call a.1")).toBe(spanIdOf(TRACE, "call a.1"));
  expect(spanIdOf(TRACE, "call a.2")).not.toBe(spanIdOf(TRACE, "call a.1"));
});

test("a share of all traces is chosen, none at 0 and each at 1", () => {
  const ids = Array.from({ length: 4000 }, (_, n) => spanIdOf(TRACE, `${n}`).repeat(2));
  const chosen = (ratio: number): number => ids.filter((id) => isChosen(id, ratio)).length;
  expect([chosen(0), chosen(1)]).toEqual([0, 4000]);
  expect(chosen(0.25)).toBeGreaterThan(850);
  expect(chosen(0.25)).toBeLessThan(1150);
});

describe("the variables of traces", () => {
  test.each([
    ["0", 0],
    ["1", 1],
    ["0.05", 0.05],
    [".5", 0.5],
    ["1.0", 1],
    ["1.5", null],
    ["-1", null],
    ["5%", null],
    ["", null],
  ])("share %j", (text, ratio) => {
    expect(traceRatio(text)).toBe(ratio);
  });

  test("what is wrong is said", () => {
    expect(traceIssues({ OTEL_TRACES_SAMPLER_ARG: "1" })).toEqual([]);
    expect(traceIssues({ OTEL_TRACES_SAMPLER_ARG: "2" }).join()).toContain("a share from 0 to 1");
  });
});
