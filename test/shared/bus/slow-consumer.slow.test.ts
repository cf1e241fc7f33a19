import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { ServiceBroker } from "moleculer";
import { startNats, type NatsServer } from "../../../local/harness/nats-server.ts";
import { until } from "../../../local/harness/stage.ts";
import { BusTransporter } from "../../../shared/bus/bus-transporter.ts";
import { systemClock } from "../../../shared/time/clock.ts";
import { logTo, type LogLine } from "./fixtures/bus-log.ts";

const WAIT_MS = 10_000;
const TEST_MS = 30_000;

describe("a process that does not read what it is sent", () => {
  let folder: string;
  let nats: NatsServer;

  beforeAll(async () => {
    folder = mkdtempSync(join(tmpdir(), "callagent-nats-"));
    const config = join(folder, "nats.conf");
    writeFileSync(config, 'write_deadline: "200ms"\nmax_pending: 1048576\n');
    nats = await startNats({ config });
  }, TEST_MS);
  afterAll(async () => {
    await nats.stop();
    rmSync(folder, { recursive: true, force: true });
  }, TEST_MS);

  test(
    "is told by name why it lost its connection: slow consumer",
    async () => {
      const lines: LogLine[] = [];
      const log = logTo(lines);
      const broker = new ServiceBroker({
        namespace: "slow",
        nodeID: "reader",
        logger: false,
        transporter: new BusTransporter(
          { servers: [`127.0.0.1:${nats.port}`] },
          { log, clock: systemClock, strict: false },
        ),
      });
      await broker.start();
      const flood = spawn(
        process.execPath,
        [
          "-e",
          `const {connect}=require("nats");connect({servers:"127.0.0.1:${nats.port}"}).then(async c=>{process.stdout.write("go");const b=Buffer.alloc(500000);for(let i=0;i<100;i++){c.publish("MOL-slow.RES.reader",b);await c.flush();}await c.close();});`,
        ],
        { stdio: ["ignore", "pipe", "inherit"] },
      );
      await once(flood.stdout, "data");
      // the process stands still, as one without CPU does
      Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 3000);
      const alarm = await until("the alarm", () => lines.find(({ event }) => event === "bus.slow_consumer"), WAIT_MS);
      expect(alarm.stood_ms).toBeGreaterThan(1000);
      await broker.stop();
      flood.kill();
    },
    TEST_MS,
  );
});
