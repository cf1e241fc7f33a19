import * as fc from "fast-check";
import { speakable } from "../../../services/conversation/audio/speakable-text.ts";

describe("a text is spoken without its markup", () => {
  test.each([
    ["Just words.", "Just words."],
    ["**Bold**, *stressed* and `code`.", "Bold, stressed and code."],
    ['See [our page](https://example.com/a "Title") now', "See our page now"],
    ["![a cat](cat.png)", "a cat"],
    ["# Heading\n\nText", "Heading Text"],
    ["- one\n* two\n• three\n1. four", "one two three 1. four"],
    ["- [x] done", "done"],
    ["> quoted\n>> twice", "quoted twice"],
    ["```js\nlet a = 1;\n```", "let a = 1;"],
    ["one\n---\ntwo", "one two"],
    ["| a | b |\n|---|---|\n| 1 | 2 |", "a b 1 2"],
    ["line<br/>next <b>bold</b>", "line next bold"],
    ["~~gone~~ and __strong__ and _soft_ and file_name_here", "gone and strong and soft and file_name_here"],
    ["Great! 👍🏽", "Great!"],
    ["Family 👨‍👩‍👧, flag 🇩🇪, key 1️⃣ and ❤️.", "Family, flag, key 1 and."],
    ["🙂", ""],
    ["...", ""],
    ["**", ""],
    ["", ""],
    [" \n ", ""],
    ["5 € or 3 %", "5 € or 3 %"],
    ["Press * or # now, or *.", "Press * or # now, or *."],
    ["# is a key", "is a key"],
    ["Acme® ©2026", "Acme® ©2026"],
    ["**half of a", "half of a"],
    ["half of b**.", "half of b."],
    ["क्‍ष ठीक है।", "क्‍ष ठीक है।"],
    ["a  b\t\nc", "a b c"],
    ["2 < 3 and 4 > 1", "2 < 3 and 4 > 1"],
    ["I'm — well — fine", "I'm — well — fine"],
  ])("%j", (text, expected) => expect(speakable(text)).toBe(expected));

  test("words are never lost, and a long text is done with", () => {
    fc.assert(
      fc.property(
        fc.array(
          fc.constantFrom(
            "alpha",
            "beta",
            "*",
            "**",
            "_",
            "`",
            "#",
            "-",
            ">",
            "\n",
            " ",
            "(",
            ")",
            "👍",
            "~",
            "|",
            ".",
          ),
          { maxLength: 40 },
        ),
        (parts) => {
          const said = speakable(parts.join(" "));
          for (const word of ["alpha", "beta"])
            expect(said.split(word).length).toBe(parts.join(" ").split(word).length);
          expect(speakable(said)).not.toMatch(/ {2}|^ | $/);
        },
      ),
    );
    for (const scrap of ["[", "[a](", "*", "* ", "_a", "<a", "|-", "- ", "\n", " ", "`", "![]("])
      speakable(scrap.repeat(20_000));
  });
});
