import { aLaw, codecFor, linear16, muLaw } from "../../../services/conversation/audio/g711.ts";
import { levelOf, tone } from "../fixtures/sound.ts";

const ALL_CODES = Uint8Array.from({ length: 256 }, (_, code) => code);
const ALL_SAMPLES = Int16Array.from({ length: 65_536 }, (_, i) => i - 32_768);

describe("G.711", () => {
  test("every code comes back; only µ-law's second zero becomes the first", () => {
    expect(aLaw.encode(aLaw.decode(ALL_CODES))).toEqual(ALL_CODES);
    expect(muLaw.encode(muLaw.decode(ALL_CODES))).toEqual(ALL_CODES.map((code) => (code === 0x7f ? 0xff : code)));
  });

  test.each([
    ["µ-law", muLaw],
    ["A-law", aLaw],
  ])("%s errs by half a step at most: a thirty-second of the sample", (_name, codec) => {
    const back = codec.decode(codec.encode(ALL_SAMPLES));
    expect(ALL_SAMPLES.filter((sample, i) => Math.abs(back[i]! - sample) > 8 + Math.abs(sample) / 32)).toHaveLength(0);
  });

  // From the tables of ITU-T G.711, as every encoder in use has them.
  test.each([
    [0, 0xff, 0xd5],
    [-1, 0x7f, 0x55],
    [1000, 0xce, 0xfa],
    [-1000, 0x4e, 0x7a],
    [32_767, 0x80, 0xaa],
    [-32_768, 0x00, 0x2a],
    [8031, 0xa0, 0x8a],
  ])("%d is %i in µ-law and %i in A-law", (sample, mu, a) => {
    expect([...muLaw.encode(Int16Array.of(sample)), ...aLaw.encode(Int16Array.of(sample))]).toEqual([mu, a]);
  });

  test.each([
    ["µ-law", muLaw],
    ["A-law", aLaw],
  ])("%s keeps a tone of -10 dBFS 35 dB above what it adds", (_name, codec) => {
    const sent = tone({ hz: 1000, rate: 8000, ms: 1000, db: -10 });
    const got = codec.decode(codec.encode(sent));
    expect(levelOf(sent) - levelOf(sent.map((s, i) => s - got[i]!))).toBeGreaterThan(35);
  });
});

describe("linear samples", () => {
  test("may begin at any byte, and a half one is dropped", () => {
    const bytes = Uint8Array.of(9, 0x34, 0x12, 0xff, 0xff, 7).subarray(1);
    expect([...linear16.decode(bytes)]).toEqual([0x1234, -1]);
  });

  test("are copied", () => {
    const pcm = Int16Array.of(1, 2, 3);
    const bytes = linear16.encode(pcm.subarray(1));
    pcm.fill(0);
    expect([...bytes]).toEqual([2, 0, 3, 0]);
  });

  test("each format has its codec", () => {
    expect([codecFor("pcmu"), codecFor("pcma"), codecFor("s16le")]).toEqual([muLaw, aLaw, linear16]);
  });
});
