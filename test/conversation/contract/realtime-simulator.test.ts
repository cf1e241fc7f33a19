import { DEFAULT_LISTENING } from "../../../shared/contracts/records/listening-settings.ts";
import { startModels } from "../../../local/models/server.ts";
import { createDecoder, encodeSpeech } from "../../../local/speech/modem.ts";
import type { PipelineHost, VoicePipeline } from "../../../services/conversation/pipelines/port.ts";
import { realtimeProcessor } from "../../../services/conversation/pipelines/realtime/realtime-processor.ts";
import { audioPipeline } from "../../../services/conversation/pipelines/audio-pipeline.ts";
import { step } from "../../../services/conversation/dialogue/dialogue-manager.ts";
import {
  newDialogue,
  type Effect,
  type DialogueEvent,
  type DialogueState,
} from "../../../services/conversation/dialogue/dialogue-state.ts";
import { memoryLeg } from "../fixtures/memory-leg.ts";
import { frameClock } from "../../../services/conversation/transport/frame-clock.ts";
import { muLaw } from "../../../services/conversation/audio/g711.ts";
import { skippingClock } from "../../fixtures/skipping-clock.ts";
import { PAYLOAD, testFlow } from "../../fixtures/flow-template.ts";

const clock = skippingClock();
const RATE = 8000;
const FRAME = RATE / 50;
const FORMAT = { codec: "pcmu", rate: RATE } as const;
const FLOW = testFlow({
  greeting: "Hello!",
  global_functions: [],
  initial_node: "ask",
  nodes: [
    {
      name: "ask",
      prompt: "Ask {{customer}} whether they confirm order {{order}}.",
      functions: [
        { name: "confirm", description: "They confirm the order.", outcome: "confirmed", next_node: "bye" },
        { name: "end_call", description: "They want to end.", action: "end_call" },
      ],
    },
    { name: "bye", say: "Thank you.", on_enter: [{ type: "end_call" }], interruptible: false },
  ],
});

/** A conversation on a real socket: the caller says the line once they have heard the words. */
async function talked(
  address: { base_url: string; key: string; dialect: "ga" | "beta" },
  lines: readonly [string, string][],
): Promise<{ state: DialogueState; heard: string; faults: string[] }> {
  let state = newDialogue(PAYLOAD);
  const faults: string[] = [];
  const { leg, far } = memoryLeg("CA1", FORMAT);
  const words: string[] = [];
  const ear = createDecoder(RATE, { heard: (word) => words.push(word) });
  const mouth: Int16Array[] = [];
  const left = [...lines];
  const queue: DialogueEvent[] = [];
  let voice: VoicePipeline | null = null;
  const withSaid = (event: DialogueEvent): DialogueEvent => ({
    ...event,
    said: event.said ?? voice?.spokenText() ?? "",
  });
  const perform = (effect: Effect): void => {
    if (effect.type === "note_error") faults.push(effect.code);
    else if (effect.type !== "http" && effect.type !== "transfer") voice?.perform(effect);
  };
  const drain = (): void => {
    if (!voice) return;
    for (let event = queue[0]; event; event = queue[0]) {
      const made = step(FLOW, state, event);
      state = made.state;
      for (const effect of made.effects) perform(effect);
      queue.shift();
    }
  };
  const tell = (event: DialogueEvent): void => {
    if (queue.push(withSaid(event)) === 1) drain();
  };
  const host: PipelineHost = {
    finality: () => null,
    ready: () => tell({ type: "started" }),
    dispatch: tell,
    listening: () => state.mode === "listening" && state.node !== "",
    dtmfCollection: () => null,
    sendDtmf: () => undefined,
    signals_beep: true,
    opening: () => false,
    idle_ms: 8000,
    preview: (event) => step(FLOW, state, withSaid(event)).effects,
    speechSettings: { language: "en-US", voice: null, listening: DEFAULT_LISTENING },
    recordLatency: () => undefined,
    recordAnswer: () => undefined,
    recordError: (code) => {
      faults.push(code);
    },
  };
  const beats = frameClock(clock);
  const parts = {
    address: { ...address, model: "callagent-sim", voice: "alloy" },
    transcription_model: "callagent-sim",
    preemptive: true,
  };
  voice = audioPipeline({
    clock,
    frameClock: beats,
    dtmf: "tones",
    fillers: [],
    processor: (ground) => realtimeProcessor(parts, ground),
  })(leg, host);
  drain();
  const leave = beats.subscribe(() => {
    const [played] = far.play(1);
    ear.push(played ? muLaw.decode(played) : new Int16Array(FRAME));
    const cue = left[0];
    if (cue && words.join(" ").includes(cue[0])) {
      left.shift();
      const pcm = encodeSpeech(cue[1], RATE);
      for (let at = 0; at < pcm.length; at += FRAME) {
        const frame = new Int16Array(FRAME);
        frame.set(pcm.subarray(at, at + FRAME));
        mouth.push(frame);
      }
    }
    far.speak(muLaw.encode(mouth.shift() ?? new Int16Array(FRAME)));
  });
  await voice.closed;
  leave();
  return { state, heard: words.join(" "), faults };
}

describe("the realtime engine against the model simulator", () => {
  let models: Awaited<ReturnType<typeof startModels>>;
  beforeAll(async () => {
    models = await startModels({ port: 0, key: "secret", clock });
  });
  afterAll(() => models.close());
  const at = (dialect: "ga" | "beta", key = "secret") => ({ base_url: models.url, key, dialect });

  test.each(["ga", "beta"] as const)("a whole conversation, dialect %s", async (dialect) => {
    const { state, heard, faults } = await talked(at(dialect), [["A-17?", "Yes, I confirm."]]);
    expect(heard).toBe("Hello! Do you confirm order A-17? Thank you.");
    expect(state.transcript.map((l) => `${l.role}: ${l.content}`)).toEqual([
      "assistant: Hello!",
      "assistant: Do you confirm order A-17?",
      "user: Yes, I confirm.",
      "assistant: Thank you.",
    ]);
    expect([state.decided, state.ended_by, state.traversal, faults]).toEqual([
      "confirmed",
      "agent",
      ["ask", "bye"],
      [],
    ]);
  });

  test("a wrong key: the call ends with an error that does not tell it", async () => {
    const { state, faults } = await talked(at("ga", "wrong-key"), []);
    expect([state.ended_by, faults]).toEqual(["error", ["REALTIME_LOST", "SPEECH_FAILED"]]);
    expect(JSON.stringify(state)).not.toContain("wrong-key");
  });

  test("a line that is cut in mid-answer: the call ends with an error", async () => {
    await fetch(models.url.replace(/\/v1$/, "/faults"), {
      method: "POST",
      body: JSON.stringify({ target: "realtime", kind: "cut_stream" }),
    });
    const { state, faults } = await talked(at("ga"), []);
    expect([state.ended_by, faults]).toEqual(["error", ["REALTIME_LOST", "SPEECH_FAILED"]]);
  });
});
