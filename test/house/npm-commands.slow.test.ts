import { execFile } from "node:child_process";
import { join } from "node:path";
import { ROOT } from "../../local/tools/stack/project-root.ts";

test.each([
  ["local/tools/start.ts", ["--help"], 0, /^npm start -- \[options\]/],
  [
    "local/tools/start.ts",
    ["--frsh"],
    2,
    /^There is no option --frsh; did you mean --fresh\? See npm start -- --help\.$/,
  ],
  ["local/tools/start.ts", ["extra"], 2, /^There is no argument "extra": only options are taken\. See npm start/],
  ["local/soak/main.ts", ["--help"], 0, /^npm run soak -- /],
  ["local/bench/main.ts", ["webhok"], 2, /^There is no bench webhok; did you mean webhook\?/],
])("%s %j ends with %d and one answer, without a stack", async (file, args, code, said) => {
  const done = await new Promise((resolve) => {
    execFile(process.execPath, [join(ROOT, "local/tools/launch.cjs"), file, ...args], (error, stdout, stderr) =>
      resolve({ code: Number(error?.code ?? 0), said: (stdout + stderr).trim() }),
    );
  });
  expect(done).toEqual({ code, said: expect.stringMatching(said) });
  expect(done).not.toMatchObject({ said: expect.stringMatching(/\n {4}at /) });
});
