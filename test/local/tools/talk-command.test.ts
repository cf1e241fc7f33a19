import { execFile } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { keepSession, keptToken, type Shell } from "../../../deploy/client/cli/shell.ts";
import { ROOT } from "../../../local/tools/stack/project-root.ts";

const folder = mkdtempSync(join(tmpdir(), "callagent-talk-test-"));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

const talk = (...args: string[]): Promise<{ code: number; said: string }> =>
  new Promise((resolve) => {
    const env = { ...process.env, CALLAGENT_DATA: folder, CALLAGENT_TOKEN: "", XDG_CONFIG_HOME: folder };
    execFile(process.execPath, [join(ROOT, "local/tools/talk/main.ts"), ...args], { env }, (error, stdout, stderr) =>
      resolve({ code: Number(error?.code ?? 0), said: stdout + stderr }),
    );
  });

test.each([
  [["--help"], 0, "npm run talk -- --template"],
  [["--tempate", "x"], 2, "There is no option --tempate; did you mean --template? See npm run talk -- --help."],
  [[], 2, "--template is missing"],
  [["--template", "x", "--payload", "[1"], 2, "--payload must be a JSON object, not [1."],
  [
    ["--template", "x", "--url", "http://127.0.0.1:1"],
    2,
    "--url needs a token: callagent login there, --token, or CALLAGENT_TOKEN.",
  ],
  [["--template", "x", "--url", "http://127.0.0.1:1", "--token", "t"], 2, "Nothing answers at http://127.0.0.1:1;"],
  [["--template", "x"], 2, `No callagent runs with the data folder ${folder}`],
])("talk %j ends with %d and says what is wrong", async (args, code, said) => {
  expect(await talk(...args)).toEqual({ code, said: expect.stringContaining(said) });
});

test("the token of callagent login at this address is used, and at no other", async () => {
  const url = "http://127.0.0.1:1/api";
  const shell = { env: {}, configFolder: folder } as unknown as Shell;
  keepSession(shell, { url, token: "kept" });
  expect([keptToken(folder, url), keptToken(folder, `${url}/`), keptToken(folder, "http://127.0.0.1:2/api")]).toEqual([
    "kept",
    "kept",
    undefined,
  ]);
  expect((await talk("--template", "x", "--url", url)).said).toContain(`Nothing answers at ${url};`);
  expect((await talk("--template", "x", "--url", "http://127.0.0.1:2/api")).said).toContain("--url needs a token");
});
