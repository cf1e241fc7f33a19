import { readFileSync } from "node:fs";
import * as fc from "fast-check";
import { codecFor, linear16, muLaw } from "../../../services/conversation/audio/g711.ts";
import { wavOf } from "../../../services/conversation/audio/wav.ts";
import { audioDecoder } from "../../../services/conversation/providers/tts/audio-decoder.ts";
import { babble, noise, silence, inTurn, tone, voice } from "../fixtures/sound.ts";

const RATE = 8000;
const SPEECH = voice({ ms: 400, rate: RATE });
const bytesOf = (pcm: Int16Array): Buffer => Buffer.from(linear16.encode(pcm));
const text = (latin1: string): Buffer => Buffer.from(latin1, "latin1");

/** What is heard of an answer in pieces of so many bytes. */
function heard(bytes: Buffer, step = 700, type = "audio/pcm"): number[] {
  const decoder = audioDecoder(RATE, type);
  const parts: Int16Array[] = [];
  for (let at = 0; at < bytes.length; at += step) parts.push(decoder.push(bytes.subarray(at, at + step)));
  return [...parts, decoder.end()].flatMap((pcm) => [...pcm]);
}

/** Bytes that no one can tell from chance, the same every time. */
const packed = (length: number, seed: number): Buffer =>
  Buffer.from(bytesOf(noise({ ms: length, rate: 1000, db: -5 }, seed)).filter((_, i) => i % 2 === 0));
/** Frames with this head, each of so many bytes. */
const frames = (head: readonly number[], length: number, count = 6): Buffer =>
  Buffer.concat(
    Array.from({ length: count }, (_, i) => Buffer.concat([Buffer.from(head), packed(length - head.length, i + 1)])),
  );
/** The head of an ADTS frame of so many bytes. */
const adts = (second: number, length: number): number[] => [
  0xff,
  second,
  0x50,
  0x80 | (length >> 11),
  (length >> 3) & 0xff,
  ((length & 7) << 5) | 0x1f,
  0xfc,
];

const big = (pcm: Int16Array): Buffer => bytesOf(pcm).swap16();
const uint32 = (...values: number[]): Buffer =>
  Buffer.concat(
    values.map((value) => {
      const bytes = Buffer.alloc(4);
      bytes.writeUInt32BE(value);
      return bytes;
    }),
  );
const au = (coding: number, sound: Buffer, rate = RATE): Buffer =>
  Buffer.concat([text(".snd"), uint32(28, 0xffff_ffff, coding, rate, 1), text("note"), sound]);
/** 80 bit floating point of 8000 and 16000. */
const RATES: Readonly<Record<number, string>> = { 8000: "400bfa00000000000000", 16_000: "400cfa00000000000000" };
const aiff = (pcm: Int16Array, { rate = RATE, coding = "", sound = big(pcm) } = {}): Buffer => {
  const common = Buffer.concat([
    Buffer.from([0, 1]),
    uint32(pcm.length),
    Buffer.from([0, 16]),
    Buffer.from(RATES[rate] ?? "", "hex"),
    text(coding === "" ? "" : `${coding}\0\0`),
  ]);
  const chunk = (name: string, body: Buffer): Buffer => Buffer.concat([text(name), uint32(body.length), body]);
  const all = [chunk("COMM", common), chunk("SSND", Buffer.concat([uint32(0, 0), sound])), chunk("NAME", text("tail"))];
  return Buffer.concat([text("FORM"), uint32(0), text(coding === "" ? "AIFF" : "AIFC"), ...all]);
};
const rf64 = (pcm: Int16Array): Buffer => {
  const wav = wavOf(pcm, RATE);
  const sizes = Buffer.alloc(28 + 8);
  sizes.write("ds64", 0, "latin1");
  sizes.writeUInt32LE(28, 4);
  sizes.writeBigUInt64LE(BigInt(pcm.byteLength), 16);
  const large = Buffer.concat([text("RF64"), uint32(0xffff_ffff), text("WAVE"), sizes, wav.subarray(12)]);
  large.writeUInt32LE(0xffff_ffff, large.indexOf("data", 60, "latin1") + 4);
  return Buffer.concat([large, text("LIST\u0004\0\0\0tail")]);
};

describe("sound that was not asked for is refused by its bytes, and never played", () => {
  test.each<[string, Buffer, string]>([
    ["MP3 with ID3", Buffer.concat([text("ID3\u0004\0\0\0\0\0\0"), packed(400, 1)]), "MP3"],
    ["MP3 of 128 kbit/s", frames([0xff, 0xfb, 0x90, 0x64], 417), "MP3"],
    ["MP3 with a checksum", frames([0xff, 0xfa, 0x90, 0x64], 417), "MP3"],
    ["MP3 of 24000 Hz", frames([0xff, 0xf3, 0x84, 0xc4], 192), "MP3"],
    ["MP3 of 24000 Hz with a checksum", frames([0xff, 0xf2, 0x84, 0xc4], 192), "MP3"],
    ["MP3 of 12000 Hz", frames([0xff, 0xe3, 0x48, 0xc4], 192), "MP3"],
    ["MP2", frames([0xff, 0xfd, 0x84, 0x04], 384), "MP3"],
    ["one frame of MP3, cut", frames([0xff, 0xfb, 0x90, 0x64], 60, 1), "MP3"],
    [
      "MP3 whose frames are of several lengths",
      Buffer.concat([Buffer.from([0xff, 0xfb, 0x90, 0x64]), packed(3000, 5)]),
      "MP3",
    ],
    ["AAC", frames(adts(0xf1, 300), 300), "AAC"],
    ["AAC of MPEG-2", frames(adts(0xf9, 300), 300), "AAC"],
    ["WebM", Buffer.concat([Buffer.from("1a45dfa39f4286810142f7", "hex"), packed(500, 2)]), "WebM"],
    ["Ogg", text("OggS\0\u0002 and so on"), "Ogg"],
    ["FLAC", text("fLaC\0\0\0\u0022 and so on"), "FLAC"],
    ["M4A", Buffer.concat([uint32(28), text("ftypM4A "), packed(300, 3)]), "MP4"],
    ["fragments of MP4", Buffer.concat([uint32(24), text("stypmsdh"), packed(300, 3)]), "MP4"],
    ["CAF", text("caff\0\u0001\0\0desc"), "CAF"],
    ["AMR", text("#!AMR\n and so on"), "AMR"],
    ["gzip", Buffer.concat([Buffer.from([0x1f, 0x8b, 8, 0]), packed(300, 4)]), "gzip"],
    ["a WAV of floats in AIFF", aiff(SPEECH, { coding: "fl32" }), "another coding"],
    ["an AU of floats", au(6, bytesOf(SPEECH)), "another coding"],
    ["an AIFF without sound", aiff(SPEECH).subarray(0, 40), "without sound"],
    ["JSON", text('{"error": {"message": "the voice is unknown"}}'), "words"],
    ["JSON with a byte order mark", Buffer.from('\uFEFF{"error": "Jörg ist unbekannt"}'), "words"],
    ["HTML", text("<!DOCTYPE html>\n<html><head><title>502 Bad Gateway</title></head></html>"), "words"],
    ["a line of text", text("Internal Server Error"), "words"],
    ["a stream of events", text('data: {"type":"speech.audio.delta","audio":"AAAA"}\n\n'.repeat(4)), "words"],
    ["sound in Base64", text(bytesOf(SPEECH).toString("base64")), "words"],
  ])("%s", (_name, bytes, named) => {
    for (const type of ["audio/pcm", "application/octet-stream", ""])
      for (const step of [1, 5, 700, 1_000_000])
        expect(() => heard(bytes, step, type)).toThrow(
          expect.objectContaining({ code: "MODEL_REFUSED", message: expect.stringContaining(named) }),
        );
  });

  test.each([
    "audio/mpeg",
    "audio/mp3",
    "audio/aac",
    "audio/ogg; codecs=opus",
    "audio/webm",
    "audio/x-m4a",
    "video/mp4",
    "audio/l24",
    "audio/mulaw",
  ])("samples that are called %s are refused: nobody knows what they are", (type) => {
    expect(() => heard(bytesOf(SPEECH), 700, type)).toThrow(expect.objectContaining({ code: "MODEL_REFUSED" }));
    // a file tells what it is
    expect(heard(wavOf(SPEECH, RATE), 700, type)).toEqual([...SPEECH]);
  });
});

describe("what can be decoded is played", () => {
  test.each<[string, Buffer]>([
    ["RF64 with its chunks behind the sound", rf64(SPEECH)],
    ["AU", au(3, big(SPEECH))],
    ["AIFF with its chunks behind the sound", aiff(SPEECH)],
    ["AIFF-C, big-endian", aiff(SPEECH, { coding: "NONE" })],
    ["AIFF-C, little-endian", aiff(SPEECH, { coding: "sowt", sound: bytesOf(SPEECH) })],
  ])("%s", (_name, bytes) => {
    for (const step of [1, 7, 700, 1_000_000]) expect(heard(bytes, step)).toEqual([...SPEECH]);
  });
  test("AU in G.711, and files of another rate", () => {
    const coded = codecFor("pcmu").encode(SPEECH);
    expect(heard(au(1, Buffer.from(coded)))).toEqual([...muLaw.decode(coded)]);
    expect(heard(au(3, big(SPEECH), 16_000)).length).toBe(SPEECH.length / 2);
    expect(heard(aiff(SPEECH, { rate: 16_000 })).length).toBe(SPEECH.length / 2);
  });
  test.each([
    "audio/pcm",
    "audio/L16;rate=24000;channels=1",
    "audio/x-wav",
    "audio/wav",
    "audio/raw",
    "application/octet-stream",
    "binary/octet-stream",
    "",
  ])("samples that are called %j", (type) => expect(heard(bytesOf(SPEECH), 700, type)).toEqual([...SPEECH]));
  test("samples of audio/basic are µ-law of 8000 Hz", () => {
    const coded = codecFor("pcmu").encode(SPEECH);
    expect(heard(Buffer.from(coded), 700, "audio/basic")).toEqual([...muLaw.decode(coded)]);
  });
});

describe("raw samples are played, however they begin", () => {
  const said = muLaw.decode(readFileSync(new URL("../audio/fixtures/said.ulaw", import.meta.url)));
  test("voices from any place of theirs on, silence, tones and noise", () => {
    for (let at = 0; at < said.length - 2000; at += 997) {
      const pcm = said.subarray(at, at + 2000);
      expect(heard(bytesOf(pcm))).toEqual([...pcm]);
    }
    const sounds = [
      voice({ ms: 300 }, 2),
      babble(300),
      silence(100),
      tone({ ms: 100, db: -3 }),
      noise({ ms: 100, db: -20 }),
    ];
    for (const pcm of [...sounds, inTurn(silence(20), ...sounds)]) expect(heard(bytesOf(pcm))).toEqual([...pcm]);
  });
  test("a voice whose first samples happen to be the head of a frame of MP3 or AAC", () => {
    const heads = [0xfb, 0xfa, 0xf3, 0xf2, 0xe3, 0xfd, 0xf1, 0xf9].map((second) => [
      0xff,
      second,
      0x90,
      0x44,
      0x1f,
      0xfc,
    ]);
    for (const head of heads)
      for (const pcm of [SPEECH, said.subarray(3000, 6000), silence(200)]) {
        const bytes = Buffer.concat([Buffer.from(head), bytesOf(pcm)]);
        expect(heard(bytes).slice(3)).toEqual([...pcm]);
      }
  });
  test("samples of chance", () => {
    fc.assert(
      fc.property(fc.int16Array({ minLength: 1, maxLength: 400 }), fc.integer({ min: 1, max: 900 }), (pcm, step) => {
        expect(heard(bytesOf(pcm), step)).toEqual([...pcm]);
      }),
      { seed: 42, numRuns: 500 },
    );
  });
});
