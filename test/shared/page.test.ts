import * as fc from "fast-check";
import { codeOf } from "../../shared/errors.ts";
import { decodeCursor, encodeCursor, pageFilter, pageOf, pageSize, type Position } from "../../shared/page.ts";

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
const accepts = (filter: ReturnType<typeof pageFilter>, d: Position): boolean =>
  !("$or" in filter) ||
  (d.created_at <= filter.created_at.$lte &&
    filter.$or.some((part) => ("created_at" in part ? d.created_at < part.created_at.$lt : d._id < part._id.$lt)));

test("pages give every document once, in order, while newer ones are being inserted", () => {
  const few = fc.record({
    created_at: fc.integer({ min: 0, max: 5 }).map((ms) => new Date(ms)),
    _id: fc.stringMatching(/^[a-d]{1,4}$/),
  });
  fc.assert(
    fc.property(
      fc.uniqueArray(few, { selector: (d) => d._id, maxLength: 30 }),
      fc.integer({ min: 1, max: 7 }),
      (docs, limit) => {
        const stored = [...docs];
        const seen: string[] = [];
        let cursor: string | undefined;
        for (let turn = 0; turn < 40; turn++) {
          const read = stored
            .filter((d) => accepts(pageFilter(cursor), d))
            .sort(newestFirst)
            .slice(0, pageSize(limit));
          const page = pageOf(read, limit);
          expect(page.items.length).toBeLessThanOrEqual(limit);
          seen.push(...page.items.map((d) => d._id));
          if (page.next_cursor === null) break;
          cursor = page.next_cursor;
          stored.push({ created_at: new Date(100 + turn), _id: `new-${turn}` });
        }
        expect(seen).toEqual([...docs].sort(newestFirst).map((d) => d._id));
      },
    ),
  );
});

test("a page holds fifty where the client names no number", () => {
  const read = Array.from({ length: pageSize(undefined) }, (_, i) => ({
    created_at: new Date(1000 - i),
    _id: `d${i}`,
  }));
  const page = pageOf(read, undefined);
  expect(page.items).toHaveLength(50);
  expect(page.next_cursor).toBe(encodeCursor(read[49]!));
});
