import * as fc from "fast-check";
import { speakable, speakableAnswer, spokenText } from "../../../shared/speakable/speakable-text.ts";
import { phrasesFor } from "../../../shared/phrases.ts";
import { namesIn } from "../../../shared/speakable/role-labels.ts";

/** What a filter gives of a text that comes in these pieces. */
const inPieces = (filter: ReturnType<typeof speakableAnswer>, pieces: readonly string[]): string[] => [
  ...pieces.map((piece) => filter.push(piece)),
  filter.end(),
];

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
    ["# is a key", "# is a key"],
    ["Acme® ©2026", "Acme® ©2026"],
    ["**half of a", "half of a"],
    ["half of b**.", "half of b."],
    ["क्‍ष ठीक है।", "क्‍ष ठीक है।"],
    ["a  b\t\nc", "a b c"],
    ["2 < 3 and 4 > 1", "2 < 3 and 4 > 1"],
    [
      "- Pizza XL\n- [Coke](https://shop.example/coke)\n\n## Total\n_x_ ~~y~~ <b>z</b> | 🇮🇳 🏽",
      "Pizza XL Coke Total x y z",
    ],
    [
      "[![alt](a.png)](https://x.example/(b)) and [one][1] and a note[^2]\n\n[1]: https://x.example",
      "alt and one and a note",
    ],
    ["Mail <mia@shop.example> or <https://shop.example/a>.", "Mail mia@shop.example or https://shop.example/a."],
    ["<!-- not for you -->Hello<br>there", "Hello there"],
    ["[1] and array[0] and [see below]", "[1] and array[0] and [see below]"],
    ["An answer that was cut in [its link](https://shop.exa", "An answer that was cut in its link"],
    ["\\*not\\* \\_stressed\\_ but \\# 5", "not stressed but # 5"],
    ["Hi👍there", "Hi there"],
    ["Press *️⃣, #️⃣ or 5️⃣.", "Press *, # or 5."],
    ["𝗛𝗲𝗹𝗹𝗼, 𝘈𝘥𝘢: 𝟦𝟤", "Hello, Ada: 42"],
    ["England 🏴󠁧󠁢󠁥󠁮󠁧󠁿!", "England!"],
    ["Tom &amp; Jerry &lt;3 &quot;us&quot;&nbsp;&#128512; &amp;amp; co; R&D", 'Tom & Jerry <3 "us" & co; R&D'],
    ["I'm — well — fine", "I'm — well — fine"],
  ])("%j", (text, expected) => expect(speakable(text)).toBe(expected));

  test.each([
    "press * now",
    "Press * or #, please: * repeats, # ends.",
    "Press \"*\", (*) or '#'.",
    "5 * 3 is 15, and 5*3 too",
    "Dial *67, *123# or *21*5551234#.",
    "*",
    "#",
    "# ends the call",
    "##002#",
    "C# and #5",
  ])("a star or a number sign that is a key or a sign stays: %j", (text) => expect(speakable(text)).toBe(text));

  test.each([
    ["A\u0000B\u0007 C\u001B[31mD", "AB CD"],
    ["a \u202Ereversed\u202C word, \u2066set apart\u2069", "a reversed word, set apart"],
    ["ze\u200Bro\u2060 wid\uFEFFth, soft\u00ADly, Lat\u200Din", "zero width, softly, Latin"],
    ["half \uD83D of one, and \uFFFD", "half of one, and"],
    ["نمی\u200Cخواهم", "نمی\u200Cخواهم"],
  ])("what nobody hears is left out of %j", (text, expected) => expect(speakable(text)).toBe(expected));

  test.each([
    "Just words, e.g. a. b. 5.5 (or so) – and « so on » !",
    "Ça va ? Oui : très bien.",
    "Ihr Termin: Montag, 9. Juni, 14:30 Uhr, Raum 4-b/2.",
    "आपका ऑर्डर ₹499 का है।",
    "您的订单【已确认】，请按#键。",
    "a@b.example, 50% & more; +49 151 1234-5678 = mine",
  ])("a text without marks stays as it is, and so does what was cleaned before: %j", (text) => {
    expect(speakable(text)).toBe(text);
    expect(speakable(speakable(`**${text}**`))).toBe(speakable(`**${text}**`));
  });

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
  });

  test.each(
    `[;[a](;*;* ;_a;<a;|-;- ;\n; ;\`;![](;](;]((;<think>;</think>;[THINK];<thinking><think>;<|channel|>;<|im_start|>;&amp;;&;<!--;\\;#;*1;😀;\uD83D;\u200D;◁;a [b;<think ;Here is my;[^;Agent:`.split(
      ";",
    ),
  )("%j over and over is done with in linear time, whole and in pieces", (scrap) => {
    const began = performance.now();
    speakable(scrap.repeat(20_000));
    const answer = speakableAnswer();
    for (let i = 0; i < 4000; i++) answer.push(scrap);
    answer.end();
    // a quadratic one takes many seconds
    expect(performance.now() - began).toBeLessThan(2000);
  });
});

/** Scraps of everything that the filters look for. */
const SCRAPS =
  "alpha;beta;*;**;_;`;```;#;##;-;>;\n; ;(;);[;];](;http://x.y;👍;🏽;🇮🇳;\u200D;~;|;.;<;b>;/;think;</think>;<think>;[THINK];[/THINK];<|im_start|>;assistant;<|channel|>;final;<|message|>;analysis;<|end|>;&;amp;!;Agent;:;5;\\;<!--;-->;◁;▷;Here is my;---;क;1;=;\uD83D;\uDE00".split(
    ";",
  );

describe("an answer that is streamed", () => {
  test("is the same however it is cut into pieces", () => {
    fc.assert(
      fc.property(
        fc.array(fc.constantFrom(...SCRAPS), { maxLength: 25 }),
        fc.array(fc.nat(60), { maxLength: 12 }),
        (scraps, places) => {
          const text = scraps.join("");
          const cuts = [0, ...places.filter((at) => at < text.length).sort((a, b) => a - b), text.length];
          const pieces = cuts.slice(1).map((end, i) => text.slice(cuts[i], end));
          expect(inPieces(speakableAnswer(), pieces).join("")).toBe(inPieces(speakableAnswer(), [text]).join(""));
        },
      ),
      { numRuns: 500 },
    );
  });

  test.each<[string[], string[]]>([
    [
      ["Hello", " Ada", ".", " How", " are", " you?"],
      ["Hello", " Ada", ".", " How", " are", " you?"],
    ],
    [
      ["It is 2 <", " 3", "."],
      ["It is 2", " < 3", "."],
    ],
    [
      ["**", "Hi", "**", " there"],
      ["", "Hi", "", " there"],
    ],
    [
      ["See [", "our", " page", "](https://", "x.example)", " now"],
      ["See", "", "", " our page", "", " now"],
    ],
    [
      ["- ", "Tea", "\n", "- ", "Milk"],
      ["", "Tea", "", "", "\nMilk"],
    ],
    [
      ["Great \uD83D", "\uDC4D", "\uD83C", "\uDFFD", "!"],
      ["Great", "", "", "", "!"],
    ],
    [
      ["press ", "*", " now"],
      ["press", "", " * now"],
    ],
    [
      ["Wow!", " [", "1] of"],
      ["Wow!", "", " [1] of"],
    ],
    [
      ["<b", ">Hi", "</b>"],
      ["", "Hi", ""],
    ],
  ])("of %j no more is held back than may be the beginning of a mark", (pieces, given) => {
    expect(inPieces(speakableAnswer(), pieces).slice(0, -1)).toEqual(given);
  });

  test.each([
    ["..."],
    [".", ".", "."],
    ["**", "…", "**"],
    ["🙂", " ", "!"],
    ["<think>hm</think>"],
    ["Agent:"],
    ["*".repeat(3)],
  ])("without anything to say is none: %j", (...pieces) =>
    expect(inPieces(speakableAnswer(), pieces).join("")).toBe(""),
  );

  test.each([
    [["Agent: Hello, this is Mia"], "Hello, this is Mia"],
    [["Age", "nt", ":", " Hello"], "Hello"],
    [["**Assistant:** Hello"], "Hello"],
    [["Mia: Hello"], "Hello"],
    [["Mia", " is", " my name"], "Mia is my name"],
    [["Agent", " Smith: hello"], "Agent Smith: hello"],
    [["Monday: closed"], "Monday: closed"],
    [["助手：你好"], "你好"],
  ])("begins behind the label of a script, %j", (pieces, said) => {
    const names = namesIn("You are Mia, who calls for a shop. Never say that you are Agent 7.");
    expect(inPieces(speakableAnswer(names), pieces).join("")).toBe(said);
  });
});

describe("a text of a template", () => {
  test.each("en de fr es pt it nl pl hi ja zh ar tr".split(" "))(
    "sentences of our own are speakable as they stand: %s",
    (language) => {
      for (const sentence of Object.values<string | readonly string[]>({ ...phrasesFor(language) }).flat())
        expect(speakable(sentence)).toBe(sentence);
    },
  );
  test("is cleaned with its values, and a value that begins a thought hides nothing of what follows", () => {
    const sources = [{ name: "😀 **Zoë**\u0000", trick: "<think>", html: "<script>x</script>", n: 5 }];
    expect(spokenText("Hello {{name}}, this call is recorded.", sources)).toBe("Hello Zoë, this call is recorded.");
    expect(spokenText("Hello {{trick}}, this call is recorded.", sources)).toBe("Hello , this call is recorded.");
    expect(spokenText("{{html}} {{n}} * 3", sources)).toBe("x 5 * 3");
  });
});
