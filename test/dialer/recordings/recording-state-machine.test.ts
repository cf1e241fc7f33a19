import { describe, expect, test } from "@jest/globals";
import { randomUUID } from "node:crypto";
import { audioType } from "../../../services/dialer/recordings/fetch-recording.ts";
import * as machine from "../../../services/dialer/recordings/recording-state-machine.ts";
import { RECORDING_STATES, type RecordingState } from "../../../shared/contracts/records/recording-states.ts";
import type { Transition } from "../../../services/dialer/call/call-state-machine.ts";
import { recordingKey } from "../../../shared/storage/recordings.ts";

const REF = `${randomUUID()}.1`;
const NOW = new Date("2026-11-21T12:00:00Z");
const LEASE = new Date("2026-11-21T12:05:30Z");
const TOLD = { recording_id: "RE1", url: "https://api.example.com/RE1", seconds: 12, channels: 2 };

const OWN = { key: "k", bytes: 1, content_type: "audio/wav", seconds: 3 };

type Doc = { _id: string; carrier_call_id?: string; recording?: Record<string, unknown> };
const at = (doc: unknown, path: string): unknown =>
  path
    .split(".")
    .reduce<unknown>(
      (v, name) => (typeof v === "object" && v !== null ? (v as Record<string, unknown>)[name] : undefined),
      doc,
    );
const same = (a: unknown, b: unknown): boolean =>
  a instanceof Date && b instanceof Date ? a.getTime() === b.getTime() : (a ?? null) === (b ?? null);

/** Whether a filter of these machines lets a document through. */
function passes(filter: Record<string, unknown>, doc: Doc): boolean {
  return Object.entries(filter).every(([path, wanted]) => {
    if (path === "$or") return (wanted as Record<string, unknown>[]).some((f) => passes(f, doc));
    const value = at(doc, path);
    if (typeof wanted === "object" && wanted !== null && "$in" in wanted)
      return (wanted.$in as unknown[]).some((w) => same(value, w));
    if (typeof wanted === "object" && wanted !== null && "$ne" in wanted) return !same(value, wanted.$ne);
    return same(value, wanted);
  });
}

/** The state after the move; null: its guard was shut. */
function after(move: Transition, doc: Doc): Record<string, unknown> | null {
  if (!passes(move.filter, doc)) return null;
  const recording = { ...doc.recording };
  for (const [path, value] of Object.entries(move.update.$set ?? {})) recording[path.replace("recording.", "")] = value;
  for (const [path, by] of Object.entries(move.update.$inc ?? {}))
    recording[path.replace("recording.", "")] = Number(recording[path.replace("recording.", "")] ?? 0) + by;
  for (const path of Object.keys(move.update.$unset ?? {})) delete recording[path.replace("recording.", "")];
  return recording;
}

const none: Doc = { _id: REF, carrier_call_id: "CA1" };
const inState = (state: RecordingState, over: object = {}): Doc => ({
  ...none,
  recording: {
    state,
    tries: 1,
    due_at: LEASE,
    ...(state === "wanted" ? {} : { recording_id: "RE1", url: TOLD.url }),
    ...over,
  },
});
const ofAll = (move: Transition): Record<string, unknown> =>
  Object.fromEntries(
    [["none", none] as const, ...RECORDING_STATES.map((s) => [s, inState(s)] as const)].map(([name, doc]) => [
      name,
      after(move, doc)?.["state"] ?? null,
    ]),
  );
const NOWHERE = { none: null, wanted: null, fetching: null, stored: null, uploaded: null, absent: null, failed: null };

const AS_THEY_ARE = Object.fromEntries(RECORDING_STATES.map((state) => [state, state]));

describe("every move in every state", () => {
  test.each<[string, Transition, object]>([
    ["expect", machine.expect(REF, NOW, 600, false), { none: "wanted" }],
    ["told of one", machine.reported(REF, "CA1", TOLD, NOW), { none: "wanted", wanted: "wanted" }],
    ["told of none", machine.reported(REF, "CA1", { ...TOLD, url: null }, NOW), { none: "absent", wanted: "absent" }],
    ["told of another call's", machine.reported(REF, "CA2", TOLD, NOW), {}],
    ["the call is over", machine.callOver(REF, NOW, false), { wanted: "wanted" }],
    ["looked in vain", machine.notFound(REF, LEASE, 0, NOW), { wanted: "wanted" }],
    ["looked in vain, the lease gone", machine.notFound(REF, NOW, 0, NOW), {}],
    ["could not be asked", machine.pollFailed(REF, LEASE, 0, "r", NOW), { wanted: "wanted" }],
    ["could not be asked, the lease gone", machine.pollFailed(REF, NOW, 0, "r", NOW), {}],
    ["never came", machine.absent(REF, "why", NOW), { wanted: "absent" }],
    ["begin to fetch", machine.beginFetch(REF, LEASE), { wanted: "fetching", fetching: "fetching" }],
    ["begin, the lease gone", machine.beginFetch(REF, NOW), {}],
    [
      "stored",
      machine.stored(REF, LEASE, { key: "k", bytes: 1, content_type: "audio/wav" }, NOW),
      { fetching: "stored" },
    ],
    ["stored, the lease gone", machine.stored(REF, NOW, { key: "k", bytes: 1, content_type: "audio/wav" }, NOW), {}],
    ["failed for now", machine.fetchFailed(REF, LEASE, 1, { kind: "again", reason: "r" }, NOW), { fetching: "wanted" }],
    [
      "failed for the last time",
      machine.fetchFailed(REF, LEASE, 20, { kind: "again", reason: "r" }, NOW),
      { fetching: "failed" },
    ],
    [
      "never to be had",
      machine.fetchFailed(REF, LEASE, 1, { kind: "never", reason: "r" }, NOW),
      { fetching: "failed" },
    ],
    [
      "not known to the carrier yet",
      machine.fetchFailed(REF, LEASE, 4, { kind: "none", reason: "r" }, NOW),
      { fetching: "wanted" },
    ],
    [
      "not known to the carrier at all",
      machine.fetchFailed(REF, LEASE, 5, { kind: "none", reason: "r" }, NOW),
      { fetching: "absent" },
    ],
    [
      "the node stops",
      machine.fetchFailed(REF, LEASE, 20, { kind: "stopping", reason: "r" }, NOW),
      { fetching: "wanted" },
    ],
    ["uploaded", machine.uploaded(REF), { stored: "uploaded" }],
    ["upload failed", machine.uploadFailed(REF, 1, "r", NOW), { stored: "stored" }],
    ["told to be stored", machine.storedTold(REF, LEASE, false, NOW), AS_THEY_ARE],
    ["told to be stored, the lease gone", machine.storedTold(REF, NOW, false, NOW), {}],
    ["lost from the folder", machine.lost(REF, NOW, false), { stored: "wanted" }],
    [
      "our own is in the folder, of a call that its carrier records",
      machine.ownKept(REF, "stored", OWN, NOW),
      { none: "stored" },
    ],
    ["our own is in the bucket", machine.ownKept(REF, "uploaded", OWN, NOW), { none: "uploaded" }],
  ])("%s", (_name, move, to) => expect(ofAll(move)).toEqual({ ...NOWHERE, ...to }));

  test("what has ended is brought back by nothing that is told of it later", () => {
    const over: Doc = { ...none, recording: { ...machine.ENDED_RECORDING } };
    const moves = [
      machine.expect(REF, NOW, 600, false),
      machine.reported(REF, "CA1", TOLD, NOW),
      machine.callOver(REF, NOW, false),
      machine.ownKept(REF, "stored", OWN, NOW),
      machine.ownKept(REF, "uploaded", OWN, NOW),
      machine.beginFetch(REF, LEASE),
    ];
    expect(moves.map((move) => after(move, over))).toEqual(moves.map(() => null));
    expect(machine.dueStep(machine.ENDED_RECORDING, true)).toBeNull();
  });

  test("one of our own is waited for an hour, kept however late, never asked for, and lost only once", () => {
    const ours = (state: RecordingState, over: object = {}): Doc => ({
      ...none,
      recording: { state, own: true, tries: 0, due_at: LEASE, ...over },
    });
    expect(after(machine.expect(REF, NOW, 600, true), none)).toMatchObject({ state: "wanted", own: true });
    expect(after(machine.callOver(REF, NOW, true), ours("wanted"))).toMatchObject({
      due_at: new Date("2026-11-21T13:00:00Z"),
    });
    expect(
      RECORDING_STATES.filter((state) => after(machine.ownKept(REF, "stored", OWN, NOW), ours(state)) !== null),
    ).toEqual(["wanted", "absent", "failed"]);
    expect(after(machine.ownKept(REF, "stored", OWN, NOW), ours("absent", { error: "why" }))).toEqual({
      state: "stored",
      own: true,
      ...OWN,
      channels: 2,
      tries: 0,
      due_at: NOW,
    });
    expect(after(machine.reported(REF, "CA1", TOLD, NOW), ours("wanted"))).toBeNull();
    expect(after(machine.lost(REF, NOW, true), ours("stored"))).toEqual({
      state: "failed",
      own: true,
      tries: 0,
      error: expect.any(String),
    });
  });
  test("that it is stored is told once, and nothing is owed afterwards but an upload", () => {
    const told = (further: boolean) => after(machine.storedTold(REF, LEASE, further, NOW), inState("stored"));
    expect([told(false)?.["stored_told"], told(false)?.["due_at"]]).toEqual([true, undefined]);
    expect(told(true)).toMatchObject({ told: true, stored_told: true, due_at: NOW });
  });
  test("a late word of a recording that was given up is believed, a second recording is not", () => {
    expect(
      after(machine.reported(REF, "CA1", TOLD, NOW), { ...none, recording: { state: "absent", tries: 0 } }),
    ).toMatchObject({ state: "wanted", recording_id: "RE1", due_at: NOW });
    expect(after(machine.reported(REF, "CA1", { ...TOLD, recording_id: "RE2" }, NOW), inState("stored"))).toBeNull();
  });
  test("the end of a call has its recording asked for soon, once, and not where it was told of", () => {
    const waits = inState("wanted", { tries: 0, due_at: new Date("2026-11-21T15:00:00Z") });
    const over = after(machine.callOver(REF, NOW, false), waits);
    expect(over).toMatchObject({ state: "wanted", looks: 0, due_at: new Date("2026-11-21T12:02:00Z") });
    expect(after(machine.callOver(REF, LEASE, false), { ...none, recording: over ?? {} })).toBeNull();
    expect(after(machine.callOver(REF, NOW, false), inState("wanted", { recording_id: "RE1" }))).toBeNull();
  });
  test("looks are further and further apart, then it is given up; one that could not be made is none of them", () => {
    const looked = (looks: number) =>
      after(machine.notFound(REF, LEASE, looks, NOW), inState("wanted", { looks, tries: 3 }));
    expect([0, 1, 2].map((looks) => (Number(looked(looks)?.["due_at"]) - NOW.getTime()) / 1000)).toEqual([
      600, 3600, 0,
    ]);
    expect(looked(1)).toMatchObject({ looks: 2, tries: 0 });
    const failed = (tries: number) =>
      after(machine.pollFailed(REF, LEASE, tries, "down", NOW), inState("wanted", { tries, looks: 1 }));
    expect([0, 1, 19].map((tries) => (Number(failed(tries)?.["due_at"]) - NOW.getTime()) / 1000)).toEqual([
      15, 30, 3600,
    ]);
    expect(failed(4)).toMatchObject({ tries: 5, looks: 1, error: "down" });
  });
  test("a stopping node spends no try; tries to fetch are further and further apart", () => {
    expect(
      after(
        machine.fetchFailed(REF, LEASE, 3, { kind: "stopping", reason: "r" }, NOW),
        inState("fetching", { tries: 3 }),
      ),
    ).toMatchObject({ tries: 2, due_at: NOW });
    const waits = [1, 2, 3, 8, 19].map(
      (tries) =>
        (Number(
          after(machine.fetchFailed(REF, LEASE, tries, { kind: "again", reason: "r" }, NOW), inState("fetching"))?.[
            "due_at"
          ],
        ) -
          NOW.getTime()) /
        1000,
    );
    expect(waits).toEqual([15, 30, 60, 1920, 3600]);
  });
  test("an upload is tried for days, then the local copy is all there is", () => {
    const tried = (tries: number) => after(machine.uploadFailed(REF, tries, "r", NOW), inState("stored", { tries }));
    expect([tried(0)?.["due_at"], tried(1)?.["tries"], tried(119)?.["due_at"], tried(119)?.["state"]]).toEqual([
      new Date(NOW.getTime() + 60_000),
      2,
      undefined,
      "stored",
    ]);
    let days = 0;
    for (let tries = 0; tries < 119; tries += 1)
      days += (Number(tried(tries)?.["due_at"]) - NOW.getTime()) / 86_400_000;
    expect(days).toBeGreaterThan(4);
  });
});

test.each<[RecordingState, object, machine.DueStep, machine.DueStep]>([
  ["wanted", {}, "ask", "ask"],
  ["wanted", { looks: 2, tries: 19 }, "ask", "ask"],
  ["wanted", { looks: 3 }, "give_up_waiting", "give_up_waiting"],
  ["wanted", { tries: 20 }, "give_up_waiting", "give_up_waiting"],
  ["wanted", { looks: 3, recording_id: "RE1" }, "fetch", "fetch"],
  ["wanted", { recording_id: "RE1" }, "fetch", "fetch"],
  ["fetching", { recording_id: "RE1" }, "fetch", "fetch"],
  ["stored", {}, "tell_stored", "tell_stored"],
  ["stored", { told: true }, "tell_stored", "tell_stored"],
  ["stored", { told: true, stored_told: true }, null, "upload"],
  ["stored", { told: true, stored_told: true, tries: 120 }, null, null],
  ["uploaded", {}, "tell_stored", "tell_stored"],
  ["uploaded", { told: true }, "tell_stored", "tell_stored"],
  ["uploaded", { told: true, stored_told: true }, null, null],
  ["wanted", { own: true }, "give_up_waiting", "give_up_waiting"],
  ["stored", { own: true, told: true, stored_told: true }, null, "upload"],
  ["absent", {}, null, null],
  ["absent", { told: true }, "take_back", "take_back"],
  ["failed", { told: true }, null, null],
])("%s %p owes %p, with uploads %p", (state, over, without, withUploads) => {
  const recording = { state, tries: 0, ...over };
  expect([machine.dueStep(recording, false), machine.dueStep(recording, true)]).toEqual([without, withUploads]);
});

describe("what is taken for audio", () => {
  const wav = Buffer.from("RIFF\x24\0\0\0WAVEfmt ", "latin1");
  test.each<[string, Buffer, string | null]>([
    ["audio/wav", wav, "audio/wav"],
    ["audio/x-wav", wav, "audio/wav"],
    ["Audio/MPEG; charset=binary", Buffer.from("x"), "audio/mpeg"],
    ["audio/ogg", Buffer.from("OggS"), "audio/ogg"],
    ["application/octet-stream", wav, "audio/wav"],
    ["binary/octet-stream", Buffer.from("ID3\x03"), "audio/mpeg"],
    ["", Buffer.from([0xff, 0xfb, 0x90]), "audio/mpeg"],
    ["application/octet-stream", Buffer.from("<html>"), null],
    ["text/html", wav, null],
    ["application/json", Buffer.from("{}"), null],
    ["audio/", wav, null],
    ["audio/wav\r\nX: y", wav, null],
    ["", Buffer.alloc(0), null],
  ])("%p", (content_type, head, kept) => expect(audioType(content_type, head)).toBe(kept));
  test("the key tells day and call", () => {
    expect(recordingKey(REF, new Date("2026-01-02T23:59:59Z"), "audio/wav")).toBe(`2026/01/02/${REF}.wav`);
    expect(recordingKey(REF, NOW, "audio/ogg")).toBe(`2026/11/21/${REF}.audio`);
  });
});
