import type { Recorder } from "../../../services/conversation/recording/stereo-recorder.ts";
import { codecFor } from "../../../services/conversation/audio/g711.ts";
import { audioCall } from "../fixtures/audio-call.ts";
import { testFlow } from "../../fixtures/flow-template.ts";

const FRAME = new Int16Array(160).fill(900);

test("the recorder gets the carrier's audio, not the silence that stands in for late audio", async () => {
  const heard: boolean[] = [];
  const recorder: Recorder = {
    heard: (pcm) => {
      heard.push(pcm.every((sample) => sample === 0));
    },
    played: () => undefined,
    end: () => Promise.resolve(),
  };
  const c = audioCall({
    flow: testFlow({ greeting: "Good day." }),
    reply: () => ({ text: "Yes?" }),
    more: { recorder: () => recorder },
  });
  await c.pass(200);
  const before = heard.length;
  expect(before).toBeGreaterThan(0);
  for (let ms = 0; ms < 400; ms += 20) await c.clock.advance(20);
  expect(heard.length).toBe(before);
  for (let n = 0; n < 20; n++) c.far.speak(codecFor("pcmu").encode(FRAME));
  expect(heard.slice(before)).toEqual(Array.from({ length: 20 }, () => false));
});
