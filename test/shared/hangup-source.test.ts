import { CARRIER_ENDS, ENDED_BY, HANGUP_PARTIES } from "../../shared/contracts/records/attempt.ts";
import {
  CARRIER_PARTIES,
  HANG_UP_REASONS,
  hangupSourceOf,
  MEDIA_ENDS,
  type HangupEvidence,
} from "../../shared/hangup-source.ts";

const evidence = (over: Partial<HangupEvidence>): HangupEvidence => ({
  answered: true,
  end: "completed",
  carrier: null,
  asked: null,
  media: null,
  talk: null,
  ...over,
});

/** Every combination there is. */
const all: HangupEvidence[] = [true, false].flatMap((answered) =>
  CARRIER_ENDS.flatMap((end) =>
    [null, ...CARRIER_PARTIES].flatMap((carrier) =>
      [null, ...HANG_UP_REASONS].flatMap((asked) =>
        [null, ...MEDIA_ENDS].flatMap((media) =>
          [null, ...ENDED_BY].map((talk) => ({ answered, end, carrier, asked, media, talk })),
        ),
      ),
    ),
  ),
);

test.each<[string, Partial<HangupEvidence>, string, string | null]>([
  ["nothing speaks for anybody", {}, "unknown", null],
  ["the media was closed in order before any end of ours", { media: "closed", talk: "customer" }, "callee", null],
  ["the media broke off", { media: "broken", talk: "customer" }, "carrier", null],
  ["the media were lost while we stood still", { media: "lost", talk: "customer" }, "unknown", null],
  ["we had asked before the media closed", { media: "closed", talk: "customer", asked: "overdue" }, "we", "overdue"],
  ["the carrier says who, whatever the media looked like", { media: "broken", carrier: "callee" }, "callee", null],
  ["the callee was faster than our request", { asked: "media_missing", carrier: "callee" }, "callee", null],
  ["the carrier confirms our request", { asked: "media_missing", carrier: "we" }, "we", "media_missing"],
  ["the carrier's limit was over", { end: "time_limit", media: "closed", talk: "customer" }, "timeout", null],
  ["the conversation said goodbye", { talk: "agent", carrier: "we", asked: "asked" }, "agent", null],
  ["the customer stayed silent", { talk: "timeout", asked: "asked" }, "timeout", null],
  ["the conversation was shut down", { talk: "error", asked: "shutdown" }, "we", "shutdown"],
  ["the conversation failed", { talk: "error" }, "we", "conversation_failed"],
  ["nobody answered in time", { answered: false, end: "no_answer" }, "timeout", null],
  ["busy", { answered: false, end: "busy" }, "callee", null],
  ["declined", { answered: false, end: "rejected" }, "callee", null],
  ["the network failed", { answered: false, end: "failed" }, "carrier", null],
  ["canceled by us", { answered: false, end: "canceled", asked: "window_closed" }, "we", "window_closed"],
  ["canceled, nobody knows by whom", { answered: false, end: "canceled" }, "unknown", null],
  ["a caller who left before the answer", { answered: false, end: "completed", carrier: "callee" }, "callee", null],
  ["never found at the carrier", { answered: false, end: "unknown" }, "unknown", null],
])("%s", (_name, over, by, reason) => {
  expect(hangupSourceOf(evidence(over))).toEqual({ by, reason });
});

test("whatever is known, the answer is of the closed list, and a reason is one of ours", () => {
  expect(all.length).toBeGreaterThan(5000);
  for (const e of all) {
    const { by, reason } = hangupSourceOf(e);
    expect(HANGUP_PARTIES).toContain(by);
    if (reason !== null) expect([by, HANG_UP_REASONS.some((known) => known === reason)]).toEqual(["we", true]);
  }
});

test("an answered call is the callee's end only by the carrier's word, or by media that closed before any request of ours and any limit", () => {
  for (const e of all.filter(({ answered }) => answered)) {
    if (hangupSourceOf(e).by !== "callee") continue;
    const byMedia = e.carrier === null && e.media === "closed" && e.asked === null && e.end !== "time_limit";
    expect({ e, positive: e.carrier === "callee" || byMedia }).toEqual({ e, positive: true });
    expect(["agent", "timeout"]).not.toContain(e.talk);
  }
});

test("our end of an answered call needs our request, our conversation's failure or the carrier's word", () => {
  for (const e of all.filter(({ answered }) => answered))
    if (hangupSourceOf(e).by === "we") expect(e.asked !== null || e.talk === "error" || e.carrier === "we").toBe(true);
});
