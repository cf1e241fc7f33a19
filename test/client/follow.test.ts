import type { ClientOptions } from "../../deploy/client/client.ts";
import { EventsMissed, follow, type FollowOptions } from "../../deploy/client/follow.ts";
import { messagesOf } from "../../deploy/client/stream-messages.ts";
import { answering, type Answering, type Reply } from "./fixtures/answering-server.ts";

const message = (n: number): string =>
  `id: c${n}\ndata: ${JSON.stringify({ id: `l-1.${n}`, type: "lead.queued", seq: n })}\n\n`;
const END = 'event: end\ndata: {"reason":"time_limit"}\n\n';

describe("messages of a stream", () => {
  const read = async (...pieces: string[]): Promise<unknown[]> => {
    const bytes = pieces.map((piece) => new TextEncoder().encode(piece));
    const seen: unknown[] = [];
    for await (const one of messagesOf(ReadableStream.from(bytes), () => {})) seen.push(one);
    return seen;
  };
  test.each([
    ["whole", ["id: 1\ndata: a\n\n"], [{ id: "1", event: "message", data: "a" }]],
    ["cut anywhere", ["i", "d: 1\nda", "ta: a\n", "\n"], [{ id: "1", event: "message", data: "a" }]],
    ["with both line ends, cut between them", ["data: a\r", "\n\r\n"], [{ id: "", event: "message", data: "a" }]],
    ["a cursor alone", ["retry: 2000\n\nid: 7\n\n"], [{ id: "7", event: "message", data: "" }]],
    ["of several lines", ["event: x\ndata: a\ndata:b\n\n"], [{ id: "", event: "x", data: "a\nb" }]],
    ["comments and retry alone are none", [": quiet\n\nretry: 2000\n\n"], []],
    ["one that broke off is none", ["data: a\n"], []],
  ])("%s", async (_, pieces, messages) => {
    expect(await read(...pieces)).toEqual(messages);
  });
  test("a letter may be cut in two", async () => {
    const bytes = new TextEncoder().encode("data: ö\n\n");
    const halves = ReadableStream.from([bytes.slice(0, 7), bytes.slice(7)]);
    for await (const { data } of messagesOf(halves, () => {})) expect(data).toBe("ö");
  });
});

describe("following events", () => {
  let server: Answering;
  let waits: number[];
  beforeEach(async () => {
    server = await answering();
    waits = [];
  });
  afterEach(() => server.close());

  /** The first events that are followed, as their numbers. */
  async function followed(
    count: number,
    replies: Reply[],
    what: FollowOptions = {},
    more: Partial<ClientOptions> = {},
  ) {
    server.replies.push(...replies);
    const wait = (ms: number): Promise<void> => {
      waits.push(ms);
      return Promise.resolve();
    };
    const options = { base: server.url, token: "t", chance: () => 1, wait, ...more };
    const seen: string[] = [];
    for await (const { cursor, event } of follow(options, what)) {
      seen.push(`${cursor} ${event.seq}`);
      if (seen.length === count) break;
    }
    return seen;
  }
  const asked = (): unknown[] => server.requests.map(({ url, headers }) => [url, headers["last-event-id"]]);

  test("from now on: a stream that broke before the first event goes on from where it began", async () => {
    const seen = await followed(1, [{ pieces: ["id: c7\n\n"] }, { pieces: [message(8)], open: true }], {
      after: "end",
    });
    expect(seen).toEqual(["c8 8"]);
    expect(asked()).toEqual([
      ["/events", "end"],
      ["/events", "c7"],
    ]);
  });

  test("goes on behind the last event where a stream ended, and where one broke", async () => {
    const broken: Reply = { pieces: [message(3), "id: c4\nda"] };
    const seen = await followed(4, [
      { pieces: [": hi\n\n", message(1), message(2), END] },
      broken,
      { pieces: [message(4)], open: true },
    ]);
    expect(seen).toEqual(["c1 1", "c2 2", "c3 3", "c4 4"]);
    expect(asked()).toEqual([
      ["/events", undefined],
      ["/events", "c2"],
      ["/events", "c3"],
    ]);
    expect(server.requests[0]?.headers).toMatchObject({ accept: "text/event-stream", authorization: "Bearer t" });
    expect(waits).toEqual([2000, 2000]);
  });

  test("follows one lead from a cursor on", async () => {
    await followed(1, [{ pieces: [message(8)], open: true }], { lead_id: "l-1", after: "c7" });
    expect(asked()).toEqual([["/leads/l-1/events", "c7"]]);
  });

  test("waits while there is no room, as long as the server says, and does not give up", async () => {
    const busy: Reply = { status: 429, body: { code: "RATE_LIMITED" }, headers: { "retry-after": "3" } };
    await followed(1, [busy, { status: 503, body: {} }, { pieces: [message(1)], open: true }]);
    expect(waits).toEqual([3250, 500]);
  });

  test("a server that says nothing for long is taken for gone", async () => {
    const seen = await followed(
      2,
      [
        { pieces: [message(1)], open: true },
        { pieces: [message(2)], open: true },
      ],
      {},
      { timeout_ms: 100 },
    );
    expect(seen).toEqual(["c1 1", "c2 2"]);
  });

  test("a refusal ends it", async () => {
    await expect(followed(1, [{ status: 403, body: { code: "FORBIDDEN" } }])).rejects.toMatchObject({
      code: "FORBIDDEN",
    });
  });

  test("says that events were missed, and goes on where the reader wants that", async () => {
    const expired: Reply = { pieces: ["event: expired\ndata: {}\n\n", message(9)], open: true };
    await expect(followed(1, [expired], { after: "old" })).rejects.toThrow(EventsMissed);
    let missed = 0;
    const seen = await followed(1, [expired], {
      after: "old",
      missed: () => {
        missed++;
      },
    });
    expect([seen, missed]).toEqual([["c9 9"], 1]);
  });

  test("ends by the signal", async () => {
    const ended = new AbortController();
    const following = followed(1, [{ never: true }], {}, { signal: ended.signal });
    await server.arrived(1);
    ended.abort();
    await expect(following).rejects.toMatchObject({ name: "AbortError" });
  });
});
