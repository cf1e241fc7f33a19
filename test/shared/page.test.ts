import * as fc from "fast-check";
import { codeOf } from "../../shared/errors.ts";
import { MAX_MESSAGE_BYTES } from "../../shared/batching.ts";
import { decodeCursor, encodeCursor, readPage, type PageFilter, type Position } from "../../shared/page.ts";

const refused = (cursor: string): string => {
  try {
    decodeCursor(cursor);
  } catch (error) {
    return codeOf(error);
  }
  return "taken";
};

const position = fc.record({
  created_at: fc.date({ min: new Date(0), max: new Date("2100-01-01"), noInvalidDate: true }),
  _id: fc.oneof(fc.uuid(), fc.string({ minLength: 1, maxLength: 80 })),
});

test("a cursor decodes to its position", () => {
  fc.assert(
    fc.property(position, (p) => {
      expect(decodeCursor(encodeCursor(p))).toEqual(p);
    }),
  );
});

test("cursors need no escaping in a query string", () => {
  const cursor = encodeCursor({
    created_at: new Date("2026-11-21T10:00:00Z"),
    _id: "0b1f6a44-6d0e-4f6c-9a52-5d1b7a1b8a10",
  });
  expect(cursor).toMatch(/^[A-Za-z0-9_-]+$/);
  expect(cursor.length).toBeLessThan(100);
});

const plain = (text: string): string => Buffer.from(text).toString("base64url");

test.each([
  ["empty", ""],
  ["nonsense", "nonsense"],
  ["not base64url", "%%%"],
  ["no time", plain(".abc")],
  ["no id", plain("abc.")],
  ["no dot", plain("abc")],
  ["time too large", plain("zzzzzzzzzzz.a")],
  ["time not canonical", plain("00abc.a")],
  ["an object", plain('{"$gt":""}')],
  ["padding", `${plain("abc.a")}==`],
  ["broken text", Buffer.from([0x61, 0x2e, 0xff]).toString("base64url")],
  ["trailing junk", `${encodeCursor({ created_at: new Date(), _id: "a" })}!`],
])("refuses a cursor that is %s", (_what, cursor) => {
  expect(refused(cursor)).toBe("VALIDATION_FAILED");
});

test("an invalid cursor never reaches a query", () => {
  fc.assert(
    fc.property(fc.string({ unit: "binary" }), (text) => {
      const answer = refused(text);
      if (answer === "taken") expect(encodeCursor(decodeCursor(text))).toBe(text);
      else expect(answer).toBe("VALIDATION_FAILED");
    }),
    { numRuns: 1000 },
  );
});

const newestFirst = (a: Position, b: Position): number =>
  b.created_at.getTime() - a.created_at.getTime() || (a._id < b._id ? 1 : -1);
const accepts = (filter: PageFilter, d: Position): boolean =>
  !("$or" in filter) ||
  (d.created_at <= filter.created_at.$lte &&
    filter.$or.some((part) => ("created_at" in part ? d.created_at < part.created_at.$lt : d._id < part._id.$lt)));

/** A collection in memory, read as a repository reads it; `reads` has the size of every read. */
const reading =
  <Doc extends Position>(docs: () => readonly Doc[], reads: number[] = []) =>
  async (after: PageFilter, size: number): Promise<Doc[]> => {
    reads.push(size);
    return docs()
      .filter((d) => accepts(after, d))
      .sort(newestFirst)
      .slice(0, size);
  };

test("pages give every document once, in order, while newer ones are being inserted", async () => {
  const few = fc.record({
    created_at: fc.integer({ min: 0, max: 5 }).map((ms) => new Date(ms)),
    _id: fc.stringMatching(/^[a-d]{1,4}$/),
  });
  await fc.assert(
    fc.asyncProperty(
      fc.uniqueArray(few, { selector: (d) => d._id, maxLength: 30 }),
      fc.integer({ min: 1, max: 7 }),
      async (docs, limit) => {
        const stored = [...docs];
        const seen: string[] = [];
        let cursor: string | undefined;
        for (let turn = 0; turn < 40; turn++) {
          const page = await readPage(
            { limit, cursor },
            reading(() => stored),
            (d) => d._id,
          );
          expect(page.items.length).toBeLessThanOrEqual(limit);
          seen.push(...page.items);
          if (page.next_cursor === null) break;
          cursor = page.next_cursor;
          stored.push({ created_at: new Date(100 + turn), _id: `new-${turn}` });
        }
        expect(seen).toEqual([...docs].sort(newestFirst).map((d) => d._id));
      },
    ),
  );
});

const numbered = (count: number): (Position & { at: number })[] =>
  Array.from({ length: count }, (_, at) => ({ created_at: new Date(1000 - at), _id: `d${at}`, at }));

test("a page holds fifty where the client names no number", async () => {
  const read = numbered(51);
  const page = await readPage(
    {},
    reading(() => read),
    (d) => d._id,
  );
  expect(page.items).toHaveLength(50);
  expect(page.next_cursor).toBe(encodeCursor(read[49]!));
});

describe("a page ends where a message is full of what is shown", () => {
  const pagesOf = async (count: number, show: (at: number) => object | undefined, limit = 9) => {
    const pages: object[][] = [];
    const reads: number[] = [];
    for (let cursor: string | undefined, turn = 0; turn <= count; turn++) {
      const page = await readPage(
        { limit, cursor },
        reading(() => numbered(count), reads),
        ({ at }) => show(at),
      );
      pages.push(page.items);
      if (page.next_cursor === null) return { pages, reads };
      cursor = page.next_cursor;
    }
    throw new Error("the list has no end");
  };
  const size = fc.oneof(
    fc.integer({ min: 1, max: 1000 }),
    fc.integer({ min: 50_000, max: MAX_MESSAGE_BYTES + 100_000 }),
  );

  test("and the next one goes on there: each item once, one at least, in messages that are taken", async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(size, { maxLength: 25 }), fc.integer({ min: 1, max: 30 }), async (sizes, limit) => {
        const text = (at: number): string => "é".repeat((sizes[at] ?? 0) / 2);
        const { pages } = await pagesOf(sizes.length, (at) => ({ at, text: text(at) }), limit);
        expect(pages.flat().map((item) => "at" in item && item.at)).toEqual(sizes.map((_, at) => at));
        for (const page of pages)
          if (page.length !== 1) expect(Buffer.byteLength(JSON.stringify(page))).toBeLessThan(MAX_MESSAGE_BYTES + 10);
        expect(pages.slice(0, -1).every((page) => page.length > 0)).toBe(true);
      }),
      { numRuns: 50 },
    );
  });

  test("what is not shown is passed over, and is the end of no list", async () => {
    const { pages } = await pagesOf(40, (at) => (at < 30 ? undefined : { at }));
    expect(pages.flat()).toEqual(Array.from({ length: 10 }, (_, i) => ({ at: 30 + i })));
  });

  test("no more is read than a message holds; small items are read at once", async () => {
    const large = await pagesOf(150, (at) => ({ at, text: "x".repeat(100_000) }), 150);
    expect(large.pages[0]).toHaveLength(3);
    expect(Math.max(...large.reads)).toBeLessThan(60);
    expect((await pagesOf(500, (at) => ({ at }), 500)).reads).toEqual([51, 450]);
    expect((await pagesOf(30, (at) => ({ at }), 50)).reads).toEqual([51]);
  });
});
