import { startChild } from "../../../../local/tools/stack/supervisor.ts";

const READY = 'console.log(JSON.stringify({ event: "ready", url: "none" }));';
const BEAT = 'process.send("beat"); setInterval(() => process.send("beat"), 20);';

function started(script: string, restart: boolean): Promise<{ reason: string; stop: () => Promise<void> }> {
  return new Promise((resolve, reject) => {
    const child = startChild({
      name: "tiny",
      args: ["-e", `${READY} ${script}`],
      env: {},
      ready: "line",
      restart,
      beats: { everyMs: 50, missed: 5 },
      onLine: () => undefined,
      onDeath: (reason) => {
        child.then((c) => resolve({ reason, stop: () => c.stop(100) }), reject);
      },
    });
    child.catch(reject);
  });
}

test("a child whose event loop stands still is killed, and it is said", async () => {
  const { reason, stop } = await started(`${BEAT} setTimeout(() => { for (;;); }, 200);`, false);
  expect(reason).toBe("tiny ended (SIGKILL, killed: its event loop stood still for 0.25 s)");
  await stop();
});

test("a child that beats is left alone, and so is one that never sent a beat", async () => {
  // Each of them ends by itself, long after a hung one would have been killed.
  const ends = ["setTimeout(() => process.exit(7), 1500);", `${BEAT} setTimeout(() => process.exit(7), 1500);`];
  for (const { reason, stop } of await Promise.all(ends.map((script) => started(script, false)))) {
    expect(reason).toBe("tiny ended (exit 7)");
    await stop();
  }
});
