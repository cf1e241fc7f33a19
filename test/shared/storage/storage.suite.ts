import { Readable } from "node:stream";
import { buffer } from "node:stream/consumers";
import type { Storage } from "../../../shared/storage/port.ts";

/** Deterministic bytes of some length. */
export const bytesOf = (length: number): Buffer =>
  Buffer.from(Uint8Array.from({ length }, (_, i) => (i * 7 + (i >> 8)) % 251));

const read = async (
  storage: Storage,
  key: string,
  range?: { start: number; end: number },
): Promise<{ bytes: number; body: Buffer } | null> => {
  const opened = await storage.open(key, range);
  return opened && { bytes: opened.bytes, body: await buffer(opened.body) };
};

const BAD_KEYS = [
  "",
  ".",
  "..",
  "../x",
  "a/../x",
  "a/..",
  "/etc/passwd",
  "a//b",
  "a/",
  "a/./b",
  ".incoming/x",
  "a/.hidden",
  "a\0b",
  "a\nb",
  "a\\..\\b",
  "%2e%2e/x",
  "ä",
  "a b",
  `${"x".repeat(301)}`,
];

/** What every storage does. */
export function storageSuite(make: () => Storage): void {
  test("an object comes back as it was put, whole and in ranges", async () => {
    const storage = make();
    const body = bytesOf(300_000);
    expect(
      await storage.put(
        "2026/11/21/whole.wav",
        Readable.from([body.subarray(0, 100), body.subarray(100)]),
        "audio/wav",
        body.length,
      ),
    ).toBe(body.length);
    expect((await read(storage, "2026/11/21/whole.wav"))?.body.equals(body)).toBe(true);
    for (const [start, end] of [
      [0, 0],
      [0, 99],
      [1000, 70_000],
      [299_999, 299_999],
    ] as const) {
      const part = await read(storage, "2026/11/21/whole.wav", { start, end });
      expect([part?.bytes, part?.body.equals(body.subarray(start, end + 1))]).toEqual([body.length, true]);
    }
  });

  test("an empty object is an object", async () => {
    const storage = make();
    expect(await storage.put("empty", Readable.from([]), "audio/wav", 0)).toBe(0);
    expect(await read(storage, "empty")).toEqual({ bytes: 0, body: Buffer.alloc(0) });
  });

  test("putting again replaces; removing forgets, and may be repeated", async () => {
    const storage = make();
    await storage.put("a/b", Readable.from([bytesOf(50)]), "audio/wav", 50);
    await storage.put("a/b", Readable.from([bytesOf(20)]), "audio/wav", 20);
    expect((await read(storage, "a/b"))?.bytes).toBe(20);
    await storage.remove("a/b");
    await storage.remove("a/b");
    expect(await storage.open("a/b")).toBeNull();
  });

  test("what is not there is null, folders too", async () => {
    const storage = make();
    await storage.put("folder/object", Readable.from([bytesOf(5)]), "audio/wav", 5);
    for (const key of ["nothing", "folder", "folder/object/below"]) expect(await storage.open(key)).toBeNull();
  });

  test.each(BAD_KEYS.map((key) => [JSON.stringify(key).slice(0, 40), key]))("%s is no key", async (_said, key) => {
    const storage = make();
    for (const attempt of [
      () => storage.open(key),
      () => storage.put(key, Readable.from([bytesOf(1)]), "audio/wav", 1),
      () => storage.remove(key),
    ]) {
      await expect(attempt()).rejects.toMatchObject({ type: "VALIDATION_FAILED" });
    }
  });

  test("a source that breaks off leaves the object before, or none", async () => {
    const storage = make();
    const broken = (): Readable =>
      Readable.from(
        (async function* half() {
          yield bytesOf(1000);
          throw new Error("the source broke");
        })(),
      );
    await storage.put("kept", Readable.from([bytesOf(10)]), "audio/wav", 10);
    await expect(storage.put("kept", broken(), "audio/wav", 2000)).rejects.toMatchObject({ type: "DEPENDENCY_DOWN" });
    await expect(storage.put("never", broken(), "audio/wav", 2000)).rejects.toMatchObject({ type: "DEPENDENCY_DOWN" });
    expect([(await read(storage, "kept"))?.bytes, await storage.open("never")]).toEqual([10, null]);
  });
}
