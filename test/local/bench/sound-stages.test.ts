import { SoundLog, stagesOf } from "../../../local/bench/voice/sessions/sound-stages.ts";

const LOUD = Int16Array.of(0, 3000);
const QUIET = Int16Array.of(0, 40);

describe("where the time of a session's turn went", () => {
  it("notes stretches of sound, parted by a silence, once it is asked", () => {
    const log = new SoundLog();
    log.note("room", LOUD, 0);
    expect(log.take()).toEqual({});
    for (const at of [100, 110, 250]) log.note("room", LOUD, at);
    log.note("room", QUIET, 260);
    log.note("room", LOUD, 600);
    expect(log.take()).toEqual({
      room: [
        { onset: 100, last: 250 },
        { onset: 600, last: 600 },
      ],
    });
    expect(log.take()).toEqual({});
  });

  const turn = { end: 1000, answered: 1500 };
  const question = (last: number): { onset: number; last: number } => ({ onset: 200, last });
  const answer = (onset: number): { onset: number; last: number } => ({ onset, last: 4000 });

  it("follows a question and its answer through a room", () => {
    const places = {
      told: [question(1090)],
      heard: [question(1091)],
      written: [{ onset: 100, last: 150 }, answer(1400)],
      given: [{ onset: 105, last: 155 }, answer(1405)],
    };
    expect(stagesOf(turn, places, true)).toEqual({ to_us: 90, to_leg: 1, thought: 309, from_leg: 5, from_us: 95 });
  });

  it("knows two places of a session by WebSocket, and nothing of sound that was not seen", () => {
    const places = { told: [], heard: [question(1012)], written: [answer(1320)], given: [] };
    expect(stagesOf(turn, places, false)).toEqual({ to_us: 12, to_leg: 0, thought: 308, from_leg: 0, from_us: 180 });
    expect(stagesOf(turn, places, true)).toBeNull();
    expect(stagesOf(turn, { ...places, heard: [question(980)] }, false)).toBeNull();
    expect(stagesOf(turn, { ...places, written: [answer(1501)] }, false)).toBeNull();
  });
});
