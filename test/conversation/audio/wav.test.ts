import * as fc from "fast-check";
import { aLaw, muLaw } from "../../../services/conversation/audio/g711.ts";
import { wavFormat, wavOf } from "../../../services/conversation/audio/wav.ts";
import { readWav, tone } from "../fixtures/sound.ts";

const sound = tone({ ms: 50, hz: 700 });

function chunk(name: string, body: Uint8Array, size = body.length): Buffer {
  const head = Buffer.alloc(8);
  head.write(name, 0, "latin1");
  head.writeUInt32LE(size, 4);
  return Buffer.concat([head, body, Buffer.alloc(body.length % 2)]);
}
function format({
  kind = 1,
  channels = 1,
  rate = 8000,
  bits = 16,
  sub,
}: {
  kind?: number;
  channels?: number;
  rate?: number;
  bits?: number;
  sub?: number;
}): Buffer {
  const body = Buffer.alloc(sub === undefined ? 16 : 40);
  body.writeUInt16LE(kind, 0);
  body.writeUInt16LE(channels, 2);
  body.writeUInt32LE(rate, 4);
  body.writeUInt16LE(bits, 14);
  if (sub !== undefined) body.writeUInt16LE(sub, 24);
  return chunk("fmt ", body);
}
const riff = (...chunks: Buffer[]): Buffer => chunk("RIFF", Buffer.concat([Buffer.from("WAVE"), ...chunks]));
const bytesOf = (pcm: Int16Array): Buffer => Buffer.from(pcm.buffer, pcm.byteOffset, pcm.byteLength);

describe("wav", () => {
  test("what is written is read", () => {
    fc.assert(
      fc.property(fc.int16Array({ maxLength: 400 }), fc.constantFrom(8000, 16_000, 24_000, 48_000), (pcm, rate) => {
        expect(readWav(wavOf(pcm, rate))).toEqual({ rate, channels: 1, samples: [pcm] });
      }),
    );
  });

  test("its head is the usual one of 44 bytes", () => {
    expect(wavOf(Int16Array.of(1, -1), 8000).toString("hex")).toBe(
      "524946462800000057415645666d74201000000001000100401f0000803e00000200100064617461040000000100ffff",
    );
  });

  test("two channels are separated", () => {
    expect(
      readWav(riff(format({ channels: 2, rate: 16_000 }), chunk("data", bytesOf(Int16Array.of(1, 10, 2, 20, 3))))),
    ).toEqual({ rate: 16_000, channels: 2, samples: [Int16Array.of(1, 2), Int16Array.of(10, 20)] });
  });

  test.each<[string, Buffer]>([
    [
      "a list before the sound, of odd length",
      riff(
        chunk("LIST", Buffer.from("INFOISFT\x05\0\0\0Lavf\0")),
        format({}),
        chunk("fact", Buffer.alloc(4)),
        chunk("data", bytesOf(sound)),
      ),
    ],
    ["a list behind it", riff(format({}), chunk("data", bytesOf(sound)), chunk("LIST", Buffer.from("more")))],
    ["a size of all ones", riff(format({}), chunk("data", bytesOf(sound), 0xffff_ffff))],
    ["no size", riff(format({}), chunk("data", bytesOf(sound), 0))],
    ["a size beyond the end", riff(format({}), chunk("data", bytesOf(sound), sound.length * 2 + 999))],
    ["the extensible format", riff(format({ kind: 0xfffe, sub: 1 }), chunk("data", bytesOf(sound)))],
  ])("%s does no harm", (_what, wav) => {
    expect(readWav(wav).samples[0]).toEqual(sound);
    const shifted = Buffer.concat([Buffer.of(0), wav]).subarray(1);
    expect(readWav(shifted).samples[0]).toEqual(sound);
  });

  test("G.711 is read", () => {
    expect(readWav(riff(format({ kind: 7, bits: 8 }), chunk("data", muLaw.encode(sound)))).samples[0]).toEqual(
      muLaw.decode(muLaw.encode(sound)),
    );
    expect(readWav(riff(format({ kind: 6, bits: 8 }), chunk("data", aLaw.encode(sound)))).samples[0]).toEqual(
      aLaw.decode(aLaw.encode(sound)),
    );
  });

  test("of a stream the head is read as soon as it is whole", () => {
    const wav = wavOf(sound, 24_000);
    for (let length = 0; length < 44; length++) expect(wavFormat(wav.subarray(0, length))).toBeNull();
    expect(wavFormat(wav.subarray(0, 44))).toMatchObject({ rate: 24_000, channels: 1, at: 44, end: wav.length });
    expect(wavFormat(riff(format({}), chunk("data", bytesOf(sound), 0xffff_ffff)))).toMatchObject({
      at: 44,
      end: null,
    });
  });

  test.each<[string, Uint8Array]>([
    ["nothing", new Uint8Array(0)],
    ["text", Buffer.from("not a wav at all")],
    ["mp3", Buffer.from("ID3\x04 and so on, for long")],
    ["8 bit", riff(format({ bits: 8 }), chunk("data", Buffer.alloc(4)))],
    ["float", riff(format({ kind: 3, bits: 32 }), chunk("data", Buffer.alloc(4)))],
    ["no channels", riff(format({ channels: 0 }), chunk("data", Buffer.alloc(4)))],
    ["no format", riff(chunk("data", Buffer.alloc(4)))],
    ["no sound", riff(format({}))],
    ["a cut format", riff(chunk("fmt ", Buffer.alloc(4)), chunk("data", Buffer.alloc(4)))],
  ])("%s is refused", (_what, bytes) => expect(() => readWav(bytes)).toThrow(RangeError));

  test("any bytes are read or refused", () => {
    const scrap = fc.oneof(
      fc.uint8Array({ maxLength: 80 }),
      fc
        .uint8Array({ maxLength: 60 })
        .map((rest) => new Uint8Array(Buffer.concat([Buffer.from("RIFF    WAVE"), format({}), rest]))),
    );
    fc.assert(
      fc.property(scrap, (bytes) => {
        try {
          expect(readWav(bytes).rate).toBe(8000);
        } catch (error) {
          expect(error).toBeInstanceOf(RangeError);
        }
      }),
      { numRuns: 300 },
    );
  });
});
