import type { Provider } from "../../shared/contracts/records/configuration.ts";
import { DESK, GREETING, MESSAGE, STORY } from "../fixtures/product/audio-templates.ts";
import { agentOf, alike, customerOf, heardOf, transcriptOf } from "../fixtures/product/audio-transcripts.ts";
import {
  closing,
  EVERYWHERE,
  GOODBYE,
  numberOf,
  playedAgain,
  QUESTION,
  same,
  streamsOf,
  TEST_MS,
  type AudioScenes,
} from "./fixtures/audio-scenes.ts";

const MAX_UNDERRUN_MS = 60;

/** What holds over the audio of each carrier. */
export function audioCarrierSuite(audio: AudioScenes, provider: Provider): void {
  let callIn: () => Promise<string>;
  let calledIn: Promise<string>;
  beforeAll(async () => {
    await audio.playEverywhere(provider);
    callIn = () => audio.stage.callIn(provider, audio.short.get(provider) ?? "", EVERYWHERE.confirms);
    calledIn = callIn();
  }, TEST_MS);

  test(
    "5: a conversation is held: transcript, path and outcome; the customer hears all of it",
    () =>
      audio.through(provider, "confirms", ({ lead, lines }) => {
        expect([
          lead.outcome,
          lead.metaData["node_traversal"],
          lead.metaData["call_ended_by"],
          lead.metaData["errors"],
        ]).toEqual(["confirmed", ["ask", "done"], "agent", []]);
        expect(transcriptOf(lead).map((line) => line.role)).toEqual(["assistant", "assistant", "user", "assistant"]);
        expect(agentOf(lead)).toBe(`${GREETING} ${QUESTION} ${GOODBYE}`);
        same(customerOf(lead), "Yes, please.");
        same(heardOf(lines), agentOf(lead));
        expect(closing(lines, "voiced_ms")).toBeGreaterThan(1000);
      }),
    TEST_MS,
  );

  test(
    "5: an utterance reaches the carrier without an underrun",
    async () => {
      // by played time, in the best of these calls: a machine that pauses for a moment makes a hole in every live call
      const seen = await Promise.all(
        (["keys", "code", "transfer", "interrupts"] as const).map(async (name) =>
          closing((await audio.ended(`${provider} ${name}`)).lines, "underrun_ms"),
        ),
      );
      await audio.through(provider, "confirms", ({ lines }) => {
        seen.push(closing(lines, "underrun_ms"));
        expect(Math.min(...seen.filter((ms) => !Number.isNaN(ms)))).toBeLessThan(MAX_UNDERRUN_MS);
      });
    },
    TEST_MS,
  );

  test(
    "7: barge-in silences the agent, and the transcript holds what was heard",
    () =>
      audio.through(provider, "interrupts", ({ lead, lines }) => {
        const [clear] = streamsOf(lines, "clear");
        expect(numberOf(clear, "barge_ms")).toBeGreaterThan(0);
        expect(numberOf(clear, "lost_ms")).toBeLessThanOrEqual(200);
        expect(lead.outcome).toBe("confirmed");
        same(customerOf(lead), "Stop, I confirm it.");
        const told = transcriptOf(lead)[1]?.content ?? "";
        expect(STORY.startsWith(told) && told.length < STORY.length).toBe(true);
        const words = (text: string): number => text.split(" ").length;
        expect(Math.abs(words(agentOf(lead)) - words(heardOf(lines)))).toBeLessThanOrEqual(1);
      }),
    TEST_MS,
  );

  test(
    "12: a person's greeting does not wait for the verdict on who has answered",
    () =>
      audio.through(provider, "confirms", ({ lines }) => {
        const verdict = lines.find((l) => l.kind === "amd"); // Plivo reports voicemail only
        const [greeting] = lines.filter((l) => l.kind === "heard");
        if (verdict)
          expect(Date.parse(greeting?.at ?? "") - numberOf(greeting, "duration_ms")).toBeLessThan(
            Date.parse(verdict.at),
          );
        else expect(provider).toBe("PROVIDER_TWO");
      }),
    TEST_MS,
  );

  test(
    "12: voicemail gets the whole message after its greeting, and nothing else",
    () =>
      audio.through(provider, "machine", ({ lead, lines }) => {
        expect([lead.outcome, lead.metaData["call_ended_by"]]).toEqual(["voicemail", "agent"]);
        const [message, more] = lines.filter((l) => l.kind === "heard" && alike(String(l["text"]), MESSAGE));
        expect(more).toBeUndefined();
        const greeted = lines.find((l) => l.kind === "said");
        expect(Date.parse(message?.at ?? "") - numberOf(message, "duration_ms")).toBeGreaterThan(
          Date.parse(greeted?.at ?? ""),
        );
      }),
    TEST_MS,
  );

  test(
    "14: DTMF reaches the conversation, and its DTMF reaches the other side",
    async () => {
      await audio.through(provider, "keys", ({ lead }) =>
        expect([lead.outcome, customerOf(lead)]).toEqual(["keyed", "[keypad] 1"]),
      );
      await audio.through(provider, "code", ({ lead, lines }) => {
        expect(lead.outcome).toBe("pressed");
        expect(lines.flatMap((l) => (l["media"] === undefined ? [] : [l["media"]]))).toContain("keys:42#");
      });
    },
    TEST_MS,
  );

  test(
    "15: a call is put through to a person",
    () =>
      audio.through(provider, "transfer", ({ lead, lines }) => {
        expect([lead.outcome, lead.metaData["call_ended_by"], lead.metaData["errors"]]).toEqual([
          "transferred",
          "agent",
          [],
        ]);
        expect(lines.filter((l) => l.kind === "dial").map((l) => l["number"])).toEqual([DESK]);
      }),
    TEST_MS,
  );

  test(
    "16: its recording is served: the customer left, the agent as it was heard right",
    async () => {
      await audio.through(provider, "confirms", async ({ lead, lines }) => {
        const { customer, agent, seconds } = await audio.stage.recording(lead.call_id ?? "");
        same(customer, "Yes, please.");
        same(agent, agentOf(lead));
        expect(Math.abs(seconds - closing(lines, "seconds"))).toBeLessThan(1);
      });
      await audio.through(provider, "interrupts", async ({ lead }) => {
        const { customer, agent } = await audio.stage.recording(lead.call_id ?? "");
        same(customer, "Stop, I confirm it.");
        same(agent, agentOf(lead));
      });
    },
    TEST_MS,
  );

  test(
    "an inbound caller has a conversation",
    () =>
      playedAgain(
        async () => {
          const sid = await calledIn;
          const { inbound_calls } = await audio.product.admin.ask("GET", "/inbound-calls", { query: {} });
          const lead = await audio.stage.finished(inbound_calls.find((c) => c.call_id === sid)?.lead_id ?? "");
          expect([lead.outcome, agentOf(lead)]).toEqual(["confirmed", `${GREETING} ${QUESTION} ${GOODBYE}`]);
          same(heardOf((await audio.product.ledger()).filter((l) => l.call_sid === sid)), agentOf(lead));
        },
        () => (calledIn = callIn()),
      ),
    TEST_MS,
  );
}
