import {
  command,
  commandStatus,
  errorSaid,
  nearest,
  readCommand,
  UsageError,
  UserError,
} from "../../shared/process/command-line.ts";

const PLAY = command({
  name: "play",
  about: "Plays something.",
  operands: [
    { name: "piece", needed: true, values: ["fugue", "sonata"] },
    { name: "part", many: true },
  ],
  options: {
    loud: { kind: "flag", about: "loudly" },
    tempo: { kind: "number", value: "n", min: 20, max: 300, whole: true, default: 120, about: "beats a minute" },
    rate: { kind: "number", value: "x", min: -1, max: 1, about: "of change" },
    key: { kind: "enum", values: ["major", "minor"], default: "major", about: "its key" },
    player: { kind: "text", value: "name", needed: true, about: "who plays" },
    guest: { kind: "text", value: "name", many: true, about: "who else plays" },
  },
});
const read = (line: string) => readCommand(PLAY, line.split(" "));

test("options and operands are read by their kinds, with their defaults", () => {
  expect(read("fugue --player ada")).toEqual({
    operands: ["fugue"],
    values: { loud: false, tempo: 120, rate: undefined, key: "major", player: "ada", guest: [] },
  });
  expect(read("sonata one two --loud --player=--x --tempo 90 --rate -0.5 --key minor --guest b --guest c")).toEqual({
    operands: ["sonata", "one", "two"],
    values: { loud: true, tempo: 90, rate: -0.5, key: "minor", player: "--x", guest: ["b", "c"] },
  });
});

test("--help wins over whatever else is wrong behind it", () => {
  expect(read("--help --nonsense")).toBeNull();
  expect(read("-h")).toBeNull();
});

test.each([
  ["fugue --playr ada", "There is no option --playr; did you mean --player? See npm run play -- --help."],
  ["fugue --zzz", "There is no option --zzz. See npm run play -- --help."],
  ["fugue -p ada", /^There is no option -p/],
  ["fugue --player", "--player needs a value: <name>. See npm run play -- --help."],
  ["fugue --player --loud", /^--player needs a value/],
  ["fugue --loud=yes --player a", /^--loud takes no value/],
  ["fugue", "--player is missing. See npm run play -- --help."],
  [
    "fugue --player a --tempo 10",
    '--tempo must be a whole number from 20 to 300, not "10". See npm run play -- --help.',
  ],
  ["fugue --player a --tempo 1e2", /^--tempo must be a whole number/],
  ["fugue --player a --key flat", '--key must be one of major, minor, not "flat". See npm run play -- --help.'],
  ["fuge --player a", "There is no piece fuge; did you mean fugue? See npm run play -- --help."],
  ["opera --player a", /^There is no piece opera; there is fugue, sonata\./],
  ["--player a", /^<piece> is missing: one of fugue, sonata\./],
])("%s is refused by name", (line, said) => {
  expect(() => read(line)).toThrow(UsageError);
  expect(() => read(line)).toThrow(said);
});

test("an argument too many is refused where none is taken", () =>
  expect(() => readCommand({ ...PLAY, operands: [], options: {} }, ["x"])).toThrow(/^There is no argument "x"/));

test("a name is suggested where one is near: a letter changed, swapped, left out, or only its beginning typed", () => {
  const names = ["fresh", "split", "engine"];
  expect(["frsh", "slpit", "engin", "eng", "fres", "xyz", "refresh"].map((typed) => nearest(typed, names))).toEqual([
    "fresh",
    "split",
    "engine",
    "engine",
    "fresh",
    null,
    null,
  ]);
});

test("an error of the person is one line; a defect of ours keeps its stack; the exit statuses are 0, 1 and 2", async () => {
  expect(errorSaid(new UserError("gone"))).toEqual({ said: "gone", status: 1 });
  expect(errorSaid(new UsageError("no such option"))).toEqual({ said: "no such option", status: 2 });
  expect(errorSaid(new TypeError("oh")).said).toMatch(/^TypeError: oh\n {4}at /);
  const printed: string[] = [];
  const screen = {
    out: (line: string) => printed.push(`out ${line}`),
    err: (line: string) => printed.push(`err ${line}`),
  };
  const status = (argv: string[], run: () => number) => commandStatus(PLAY, argv, run, screen);
  const fine = ["fugue", "--player", "a"];
  expect([
    await status(fine, () => 0),
    await status(fine, () => 1),
    await status(["--help"], () => 1),
    await status(["x"], () => 0),
    await status(fine, () => {
      throw new UserError("a port is taken");
    }),
  ]).toEqual([0, 1, 0, 2, 1]);
  expect(printed).toEqual([
    expect.stringMatching(/^out npm run play -- --player <name> <piece> \[part …\] \[options\]\nPlays something\./),
    expect.stringMatching(/^err There is no piece x/),
    "err a port is taken",
  ]);
});
