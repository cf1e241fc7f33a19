import { createEngine } from "@secretlint/node";

/** What secretlint writes in its format `json`: https://github.com/secretlint/secretlint. */
interface Found {
  filePath: string;
  messages: { message: string; loc: { start: { line: number } } }[];
}

/** Credentials in an address that tests make up: the host is an example, a documentation address or the machine itself. */
const MADE_UP =
  "/^[a-z]+:\\/\\/[\\w.~%-]+:[\\w.~%-]+@(?:(?:[\\w-]+\\.)*example(?:\\.(?:com|org|net))?|93\\.184\\.216\\.34|localhost|127\\.0\\.0\\.1)\\b/";

/** Runs `work` while marks of performance reach no observer: secretlint's profiler searches all of its marks at each one, which for our files takes 25 s of 26. */
async function withoutMarks<T>(work: () => Promise<T>): Promise<T> {
  const { mark } = performance;
  const only = performance.mark("secrets");
  performance.mark = () => only;
  try {
    return await work();
  } finally {
    performance.mark = mark;
  }
}

/** Keys, tokens and passwords in files, as "file:line what it is" with the secret masked; by secretlint's recommended rules. */
export async function secretsIn(files: readonly string[]): Promise<string[]> {
  const engine = await createEngine({
    formatter: "json",
    color: false,
    maskSecrets: true,
    configFileJSON: {
      rules: [
        {
          id: "@secretlint/secretlint-rule-preset-recommend",
          rules: [{ id: "@secretlint/secretlint-rule-basicauth", options: { allows: [MADE_UP] } }],
        },
      ],
    },
  });
  const { output } = await withoutMarks(() => engine.executeOnFiles({ filePathList: [...files] }));
  const found = JSON.parse(output) as Found[];
  return found.flatMap(({ filePath, messages }) =>
    messages.map(({ message, loc }) => `${filePath}:${loc.start.line} ${message}`),
  );
}
