import { createServer } from "node:net";
import { listenerAt } from "../../../local/bench/voice/sessions/machine.ts";
import { sharedMs } from "../../../local/bench/voice/sessions/shared-clock.ts";

describe("what the sessions' bench knows of the machine", () => {
  it("finds the process that listens at an address of this machine, and none elsewhere", async () => {
    const server = createServer();
    await new Promise<void>((resolve) => {
      server.listen(0, "127.0.0.1", resolve);
    });
    const address = server.address();
    const port = typeof address === "object" && address !== null ? address.port : 0;
    try {
      expect(listenerAt(`ws://127.0.0.1:${port}`)).toBe(process.pid);
      expect(listenerAt(`wss://rooms.example.com:${port}`)).toBeNull();
    } finally {
      await new Promise((resolve) => server.close(resolve));
    }
    expect(listenerAt(`ws://127.0.0.1:${port}`)).toBeNull();
  });

  it("has moments on the machine's monotonic clock, which all its processes share", () => {
    const before = Number(process.hrtime.bigint()) / 1e6;
    const now = sharedMs();
    const after = Number(process.hrtime.bigint()) / 1e6;
    expect(now).toBeGreaterThanOrEqual(before - 1);
    expect(now).toBeLessThanOrEqual(after + 1);
  });
});
