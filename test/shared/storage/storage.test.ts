import { mkdir, mkdtemp, readdir, readFile, rm, utimes, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Readable } from "node:stream";
import { buffer } from "node:stream/consumers";
import { randomIds } from "../../../shared/ids.ts";
import { localFolder } from "../../../shared/storage/local-folder.ts";
import { s3 } from "../../../shared/storage/s3.ts";
import { S3_ACCOUNT, startS3, type S3Server } from "../../fixtures/s3-server.ts";
import { bytesOf, storageSuite } from "./storage.suite.ts";

const NOW = new Date("2026-11-21T12:00:00Z");
const clock = { now: () => NOW };

describe("a local folder", () => {
  let dir = "";
  beforeAll(async () => {
    dir = await mkdtemp(join(tmpdir(), "recordings-"));
  });
  afterAll(() => rm(dir, { recursive: true, force: true }));
  const make = () => localFolder({ dir: join(dir, "made", "late"), clock, ids: randomIds });
  storageSuite(make);

  test("the length is optional; a given length must be true", async () => {
    expect(await make().put("unknown", Readable.from([bytesOf(123)]), "audio/wav", null)).toBe(123);
    await expect(make().put("short", Readable.from([bytesOf(123)]), "audio/wav", 124)).rejects.toMatchObject({
      type: "DEPENDENCY_DOWN",
      message: expect.stringContaining("123"),
    });
    expect(await make().open("short")).toBeNull();
  });

  test("no partial file stays, and leftovers of dead processes are removed", async () => {
    const incoming = join(dir, "made", "late", ".incoming");
    await mkdir(incoming, { recursive: true });
    for (const [name, hours] of [
      ["old", 25],
      ["young", 23],
    ] as const) {
      await writeFile(join(incoming, name), "half");
      const at = new Date(NOW.getTime() - hours * 3_600_000);
      await utimes(join(incoming, name), at, at);
    }
    await make().put("one", Readable.from([bytesOf(1)]), "audio/wav", 1);
    expect(await readdir(incoming)).toEqual(["young"]);
  });

  test("a folder that can't be written says so, without its path", async () => {
    await writeFile(join(dir, "a-file"), "");
    const storage = localFolder({ dir: join(dir, "a-file"), clock, ids: randomIds });
    await expect(storage.put("x", Readable.from([bytesOf(1)]), "audio/wav", 1)).rejects.toMatchObject({
      type: "DEPENDENCY_DOWN",
      message: expect.not.stringContaining("a-file"),
    });
  });

  test("an object that is replaced or removed while it is read is read to its end", async () => {
    const storage = make();
    const body = bytesOf(400_000);
    await storage.put("moving", Readable.from([body]), "audio/wav", body.length);
    const opened = await storage.open("moving");
    await storage.put("moving", Readable.from([bytesOf(10)]), "audio/wav", 10);
    await storage.remove("moving");
    expect(opened && (await buffer(opened.body)).equals(body)).toBe(true);
    expect(await readFile(join(dir, "made", "late", "moving")).catch(() => "gone")).toBe("gone");
  });
});

describe("S3", () => {
  let server: S3Server;
  beforeAll(async () => {
    server = await startS3();
  });
  afterAll(() => server.stop());
  beforeEach(() => {
    Object.assign(server, { failing: 0, breakAfter: null, asked: [] });
  });
  const make = (over: { bucket?: string; access_key_id?: string; endpoint?: string } = {}) =>
    s3({ region: "eu-central-1", endpoint: server.url, ...S3_ACCOUNT, ...over });
  storageSuite(make);

  test("the content type is kept with the object, and every request is signed", async () => {
    await make().put("typed", Readable.from([bytesOf(3)]), "audio/mpeg", 3);
    expect(server.objects.get("typed")?.content_type).toBe("audio/mpeg");
    await expect(make({ access_key_id: "another" }).open("typed")).rejects.toMatchObject({ type: "DEPENDENCY_DOWN" });
  });

  test("an upload needs its length", () =>
    expect(make().put("x", Readable.from([]), "audio/wav", null)).rejects.toMatchObject({ type: "VALIDATION_FAILED" }));

  test("reading is tried again, an upload is not: its bytes are gone", async () => {
    const storage = make();
    await storage.put("again", Readable.from([bytesOf(9)]), "audio/wav", 9);
    server.failing = 1;
    expect((await storage.open("again"))?.bytes).toBe(9);
    Object.assign(server, { failing: 1, asked: [] });
    await expect(storage.put("fails", Readable.from([bytesOf(9)]), "audio/wav", 9)).rejects.toMatchObject({
      type: "DEPENDENCY_DOWN",
    });
    expect(server.asked).toEqual(["PUT fails"]);
  });

  test("a missing bucket and an unreachable endpoint are errors, not missing objects", async () => {
    await expect(make({ bucket: "other" }).open("x")).rejects.toMatchObject({ type: "DEPENDENCY_DOWN" });
    await expect(make({ endpoint: "http://127.0.0.1:1" }).open("x")).rejects.toMatchObject({
      type: "DEPENDENCY_DOWN",
      message: expect.not.stringContaining("127.0.0.1"),
    });
  });

  test("an object that breaks off is no object", async () => {
    const storage = make();
    await storage.put("long", Readable.from([bytesOf(100_000)]), "audio/wav", 100_000);
    server.breakAfter = 1000;
    const opened = await storage.open("long");
    await expect(opened && buffer(opened.body)).rejects.toThrow();
  });
});
