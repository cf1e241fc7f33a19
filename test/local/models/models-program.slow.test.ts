import { spawn } from "node:child_process";
import { once } from "node:events";
import { until } from "../../../local/harness/stage.ts";
import { startModels } from "../../../local/models/server.ts";

describe("the model simulator as a program", () => {
  const run = (...args: string[]): ReturnType<typeof spawn> =>
    spawn(process.execPath, [new URL("../../../local/models/main.ts", import.meta.url).pathname, ...args], {
      stdio: ["ignore", "pipe", "pipe"],
    });

  test("says when it is ready and leaves at SIGTERM, even with a call in progress", async () => {
    const child = run("--port", "0", "--model", "m", "--first-token-ms", "60000");
    const [line] = (await once(child.stdout!, "data")) as [Buffer];
    const ready = JSON.parse(line.toString()) as { event: string; url: string };
    expect(ready.event).toBe("ready");
    const pending = fetch(`${ready.url}/chat/completions`, {
      method: "POST",
      headers: { authorization: "Bearer x" },
      body: JSON.stringify({ model: "m", messages: [{ role: "user", content: "hi" }] }),
    }).catch(() => "cut");
    await until("the call to be in progress", async () => {
      const asked = await (await fetch(ready.url.replace("/v1", "/requests"))).json();
      return (asked as { requests: unknown[] }).requests.length === 1 || undefined;
    });
    child.kill("SIGTERM");
    expect(await once(child, "exit")).toEqual([0, null]);
    expect(await pending).toBe("cut");
  });
  test("says in one line that the port is taken", async () => {
    const models = await startModels({ port: 0 });
    const child = run("--port", new URL(models.url).port);
    const [line] = (await once(child.stderr!, "data")) as [Buffer];
    expect(line.toString()).toMatch(/^models: the port is taken[^\n]*\n$/);
    expect(await once(child, "exit")).toEqual([1, null]);
    await models.close();
  });
});
