import { Bystander, type OurSpeech } from "../../../../services/conversation/pipelines/listening/bystander.ts";

/** What a detector tells of a voice that goes on, or of the quiet behind it. */
const voice = (faint: boolean, familiar: boolean) => ({
  speaking: true,
  speech_ms: 500,
  silence_ms: 0,
  quiet_ms: 0,
  faint,
  familiar,
});
const quiet = (ms: number) => ({
  speaking: ms < 300,
  speech_ms: 0,
  silence_ms: ms,
  quiet_ms: ms,
  faint: true,
  familiar: false,
});

function room() {
  const bystander = new Bystander();
  const verdict = (): string => (bystander.certain ? "room" : bystander.doubted ? "doubted" : "caller");
  return {
    speaks(ms: number, ours: OurSpeech = "silent", faint = true, familiar = false): string {
      for (let at = 0; at < ms; at += 20) bystander.advance(voice(faint, familiar), 20, ours);
      return verdict();
    },
    pauses(ms: number, ours: OurSpeech = "silent"): string {
      for (let at = 20; at <= ms; at += 20) bystander.advance(quiet(at), 20, ours);
      return verdict();
    },
  };
}

describe("a faint voice", () => {
  test("that answers in our silence is a caller's, for as long as an answer is", () => {
    const { speaks, pauses } = room();
    expect([speaks(3500), pauses(400), speaks(300)]).toEqual(["caller", "caller", "doubted"]);
    expect([pauses(900), speaks(3500)]).toEqual(["caller", "caller"]);
  });

  test("that talks on through our speech is one of the room, over short pauses, until it has been quiet", () => {
    const { speaks, pauses } = room();
    expect([speaks(1000, "audible"), pauses(500, "paused"), speaks(1200, "paused")]).toEqual([
      "doubted",
      "doubted",
      "room",
    ]);
    expect([pauses(800), speaks(20)]).toEqual(["room", "room"]);
    expect(pauses(900)).toBe("caller");
  });

  test("that interrupts us is doubted until its pause, and no longer", () => {
    const { speaks, pauses } = room();
    expect([speaks(1000, "paused"), pauses(880, "paused"), pauses(900, "paused")]).toEqual([
      "doubted",
      "doubted",
      "caller",
    ]);
  });

  test("that goes on and on without a pause is one of the room, the second time sooner", () => {
    const { speaks, pauses } = room();
    expect([speaks(7900), speaks(200), pauses(1000)]).toEqual(["doubted", "room", "caller"]);
    expect([speaks(40), speaks(3000)]).toEqual(["doubted", "room"]);
  });

  test("is not over where our own speech may hide it", () => {
    const { speaks, pauses } = room();
    speaks(300, "audible");
    expect([pauses(1500, "audible"), pauses(100)]).toEqual(["doubted", "doubted"]);
    expect(pauses(2000, "audible")).toBe("caller");
  });
});

test("a faint voice that was understood before may interrupt us, but not go on and on: it was a television", () => {
  const { speaks, pauses } = room();
  expect([speaks(3500, "audible", true, true), speaks(5000, "audible", true, true)]).toEqual(["caller", "room"]);
  expect([pauses(2100), speaks(300, "audible", true, true)]).toEqual(["caller", "doubted"]);
});

test("a voice that comes nearer is a caller's at once", () => {
  const { speaks } = room();
  expect([speaks(3000, "audible"), speaks(20, "audible", false)]).toEqual(["room", "caller"]);
});
