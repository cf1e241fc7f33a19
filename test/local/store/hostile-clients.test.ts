import { COMMAND_CLASSES } from "../../../local/soak/store/hostile-commands.ts";
import { runHostileClients } from "../../../local/soak/store/hostile-run.ts";
import { freePort } from "../../../local/tools/stack/ports.ts";
import { script } from "../../../local/tools/stack/project-root.ts";
import { startChild } from "../../../local/tools/stack/supervisor.ts";

const CLIENTS = 2;

test("hostile clients get their answers, and another client's documents stay what they were", async () => {
  const deaths: string[] = [];
  const store = await startChild({
    name: "store",
    args: [script("store/main.ts"), "--port", String(await freePort()), "--dir", ":memory:"],
    env: {},
    ready: "line",
    restart: true,
    onLine: () => undefined,
    onDeath: (reason) => deaths.push(reason),
  });
  try {
    // Every class once, in turn; the heavy ones, which take the store's cap, are left to the soak.
    const classes = COMMAND_CLASSES.filter((c) => c.kind !== "heavy");
    const result = await runHostileClients({
      url: store.url,
      seed: "1",
      clients: CLIENTS,
      answerMs: 30_000,
      more: (sent) => sent * CLIENTS < classes.length,
      next: (client, sent) => classes[sent * CLIENTS + client],
    });
    expect(result.faults).toEqual([]);
    expect(deaths).toEqual([]);
    expect([...result.answers.keys()]).toHaveLength(classes.length);
    expect(result.witness.tookMs.length).toBeGreaterThan(0);
    const answers = (name: string): string[] =>
      [...(result.answers.get(COMMAND_CLASSES.find((c) => c.name === name) ?? COMMAND_CLASSES[0]!) ?? [])].map(
        ([a]) => a,
      );
    expect(answers("regex bomb")).toEqual(["ok"]);
    expect(answers("an unknown command")).toEqual(["59"]);
    expect(answers("documents nested too deeply")).not.toContain("silent");
  } finally {
    await store.stop(5000);
  }
}, 120_000);
