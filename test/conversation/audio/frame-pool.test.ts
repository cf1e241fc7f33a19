import { silentFrame } from "../../../services/conversation/audio/frame-pool.ts";

describe("memory of frames", () => {
  test("is silent, has the requested length and is not shared", () => {
    const frames = Array.from({ length: 2000 }, (_, n) => silentFrame(160).fill(n % 1000));
    expect(frames.every((frame, n) => frame.length === 160 && frame.every((v) => v === n % 1000))).toBe(true);
    expect(silentFrame(160).every((v) => v === 0)).toBe(true);
  });

  test("what is long has its own", () => {
    const long = silentFrame(5000);
    expect(long.length).toBe(5000);
    expect(long.buffer.byteLength).toBe(10_000);
  });
});
