import { execFile } from "node:child_process";
import { mkdtempSync, readFileSync, writeFileSync } from "node:fs";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { DEFAULT_ACCOUNT, startCarrier } from "../../local/carriers/server.ts";
import { ROOT } from "../../local/tools/stack/project-root.ts";
import { after, until } from "../../local/harness/stage.ts";
import { newcomerEnv, runScript, startAsNewcomer, type Running } from "./fixtures/npm-scripts.ts";

const LONG_MS = 300_000;
/** Processes have 3.5 s to end, and a second Ctrl-C does not wait the 60 s for calls; the rest is for a machine whose cores others use. */
const STOP_MS = 30_000;
/** Signals closer together are one. */
const AGAIN_MS = 400;
const alive = (pid: number): boolean => {
  try {
    process.kill(pid, 0);
    return true;
  } catch {
    return false;
  }
};
const value = (r: Running, name: string): string => new RegExp(`${name} +(\\S+)`).exec(r.output())?.[1] ?? "";

async function ctrlC(r: Running): Promise<{ code: number | null; ms: number }> {
  const began = performance.now();
  r.child.kill("SIGINT");
  const code = await r.ended;
  return { code, ms: performance.now() - began };
}

async function push(env: Record<string, string>, number: string): Promise<void> {
  await promisify(execFile)("bash", [
    "-euc",
    `. ${env["CALLAGENT_DATA"]}/sample.env; T=$(curl -s "$BASE/login" -H 'content-type: application/json' -d '{"email":"'$EMAIL'","password":"'$PASSWORD'"}' | node -pe "JSON.parse(require('fs').readFileSync(0)).access_token"); curl -s "$BASE/leads" -H "authorization: Bearer $T" -H 'content-type: application/json' -d '{"request_id":"live${number}","template_id":"'$TEMPLATE_ID'","reseller_id":"'$RESELLER_ID'","merchant_id":"'$MERCHANT_ID'","payload":{"customer_mobile_number":"${number}","customer_name":"Ada","order_id":"A-1","amount":"1.00","delivery_date":"Monday"}}'`,
  ]);
}

/** Pushes a lead and waits until the agent speaks to its callee. */
async function speakingTo(env: Record<string, string>, r: Running, number: string): Promise<void> {
  await push(env, number);
  await until("the agent to speak", () => r.output().includes("agent:") || undefined, 30_000);
}

describe("npm start on a fresh machine", () => {
  test(
    "starts, says what one needs, walks the README's walkthrough, survives a restart, starts fresh",
    async () => {
      const env: Record<string, string> = { ...(await newcomerEnv()), OPENAI_API_KEY: "sk-never-used" };
      const first = await startAsNewcomer(env);
      for (const said of [
        "base URL",
        "docs",
        "admin",
        "password",
        "reseller_id",
        "merchant_id",
        "template_id",
        "configuration_id",
        "carrier's ledger",
        "relay: the carrier's speech",
        "simulated Twilio, Plivo and Telnyx",
        "language model: simulated",
        "OPENAI_API_KEY: --real uses them",
        join(env["CALLAGENT_DATA"] ?? "", "callagent.log"),
      ])
        expect(first.output()).toContain(said);
      expect((await fetch(value(first, "docs"))).status).toBe(200);
      const home = await (await fetch(value(first, "in a browser"))).text();
      for (const leads of ["/docs", "/health/ready", value(first, "talk to the agent").replace(/\/$/, "")])
        expect(home).toContain(`href="${leads}"`);

      const door = value(first, "talk to the agent");
      const shown = await fetch(door);
      const page = await shown.text();
      const talkTo = new URL(/action="([^"]+)"/.exec(page)?.[1] ?? "", door);
      const foreign = { method: "POST", headers: { origin: "https://elsewhere.example" } };
      expect((await fetch(talkTo, foreign)).status).toBe(403);
      // a browser says whose form it is, and under no-referrer that it may not say it
      expect(shown.headers.get("referrer-policy")).toBe("same-origin");
      const pressed = { origin: new URL(door).origin, "sec-fetch-site": "same-origin", "sec-fetch-mode": "navigate" };
      const begun = await fetch(talkTo, { method: "POST", headers: pressed });
      expect([begun.redirected, new URL(begun.url).pathname]).toEqual([true, expect.stringMatching(/^\/r\/./)]);
      expect(await begun.text()).toContain("Start talking");

      const readme = readFileSync(join(ROOT, "README.md"), "utf8");
      const walk = /```sh\n([^]*?)```/.exec(readme)?.[1] ?? "";
      expect(walk).toContain(".callagent/sample.env");
      const script = walk.replace(". .callagent/sample.env", `. ${env["CALLAGENT_DATA"]}/sample.env`);
      const cwd = mkdtempSync(join(tmpdir(), "callagent-walk-"));
      const { stdout } = await promisify(execFile)("bash", ["-euc", script], { timeout: 60_000, cwd });
      const wav = readFileSync(join(cwd, "call.wav"));
      expect([wav.toString("latin1", 0, 4), wav.readUInt16LE(22), wav.readUInt32LE(24)]).toEqual(["RIFF", 2, 8000]);
      expect(stdout).toMatch(/^rescheduled$/m);
      expect(stdout).toMatch(/^assistant: .*Ada/m);
      expect(stdout).toMatch(/^user: /m);
      expect(stdout).toContain('"reference"');
      for (const line of [
        "queued",
        "dialling",
        "ringing",
        "answered",
        "agent:",
        "customer:",
        "finished    rescheduled",
      ])
        expect(first.output()).toContain(line);

      const events = readFileSync(join(ROOT, "docs/events.md"), "utf8");
      const reader = /```sh\n([^]*?)```/.exec(events)?.[1] ?? "";
      const followed = await promisify(execFile)(
        "bash",
        ["-euc", reader.replace(". .callagent/sample.env", `. ${env["CALLAGENT_DATA"]}/sample.env`)],
        { timeout: 60_000, cwd },
      );
      for (const type of ["lead.queued", "lead.claimed", "lead.answered"])
        expect(followed.stdout).toMatch(new RegExp(String.raw`^id: [\w-]+\ndata: \{.*"type":"${type}"`, "m"));

      // a pipe gets no colours, and no line a whole number
      for (const not of ["\u001b[", "+14155552"]) expect(first.output()).not.toContain(not);
      expect(first.output()).toMatch(/^\d\d:\d\d:\d\d\.\d{3}[+-]\d\d:\d\d {2}lead [0-9a-f]{8} {2}ringing/m);

      const { children } = JSON.parse(readFileSync(join(env["CALLAGENT_DATA"]!, "run.json"), "utf8")) as {
        children: Record<string, number>;
      };
      const stopped = await ctrlC(first);
      expect(stopped.code).toBe(0);
      expect(stopped.ms).toBeLessThan(STOP_MS);
      expect(Object.entries(children).filter(([, pid]) => alive(pid))).toEqual([]);

      const second = await startAsNewcomer(env, ["--restored"]);
      expect(second.output()).toContain("0 leads are parked.");
      expect(readFileSync(join(env["CALLAGENT_DATA"]!, "callagent.former.log"), "utf8")).toContain(
        '"event":"lead.finished"',
      );
      expect(value(second, "reseller_id")).toBe(value(first, "reseller_id"));
      expect(value(second, "password")).toBe(value(first, "password"));
      const again = await promisify(execFile)("bash", [
        "-euc",
        `. ${env["CALLAGENT_DATA"]}/sample.env; T=$(curl -s "$BASE/login" -H 'content-type: application/json' -d '{"email":"'$EMAIL'","password":"'$PASSWORD'"}' | node -pe "JSON.parse(require('fs').readFileSync(0)).access_token"); curl -s "$BASE/leads/request/order-1001" -H "authorization: Bearer $T"`,
      ]);
      expect(again.stdout).toContain('"outcome":"rescheduled"');
      await ctrlC(second);

      const third = await startAsNewcomer(env, ["--fresh"]);
      expect(value(third, "reseller_id")).not.toBe(value(first, "reseller_id"));
      await ctrlC(third);
    },
    LONG_MS,
  );

  test(
    "Ctrl-C in the middle of a call says what it does, lets the call end and settles it; a second one ends at once",
    async () => {
      const env: Record<string, string> = { ...(await newcomerEnv()), SIM_TIME_SCALE: "4" };
      const first = await startAsNewcomer(env);
      await speakingTo(env, first, "+14155552601");
      const stopped = await ctrlC(first);
      expect(first.output()).toContain("1 call is under way; waiting up to 60 s; press Ctrl-C again to end at once");
      expect(stopped.code).toBe(0);
      expect(first.output()).toMatch(/lead [0-9a-f]{8} {2}finished {4}confirmed/);

      const second = await startAsNewcomer(env);
      await speakingTo(env, second, "+14155552701");
      second.child.kill("SIGINT");
      await until("what it does to be said", () => second.output().includes("is under way") || undefined, LONG_MS);
      await after(AGAIN_MS);
      const ended = await ctrlC(second);
      expect(ended.code).toBe(130);
      expect(ended.ms).toBeLessThan(STOP_MS);
      const { children } = JSON.parse(readFileSync(join(env["CALLAGENT_DATA"]!, "run.json"), "utf8")) as {
        children: Record<string, number>;
      };
      expect(Object.values(children).filter(alive)).toEqual([]);
    },
    LONG_MS,
  );

  test(
    "with --carrier twilio a lead is called by the account of the environment, from its number",
    async () => {
      const carrier = await startCarrier({
        port: 0,
        timeScale: 20,
        seed: "account",
        accounts: [DEFAULT_ACCOUNT],
        ownNumbers: ["+14155550199"],
      });
      const env = await newcomerEnv();
      const r = await startAsNewcomer(
        {
          ...env,
          TWILIO_ACCOUNT_SID: DEFAULT_ACCOUNT.sid,
          TWILIO_AUTH_TOKEN: DEFAULT_ACCOUNT.authToken,
          TWILIO_API_BASE: carrier.url,
          PUBLIC_HTTP_URL: `http://127.0.0.1:${env["HTTP_PORT"]}`,
          PUBLIC_WS_URL: `ws://127.0.0.1:${env["MEDIA_PORT"]}`,
        },
        ["--carrier", "twilio", "--to", "+14155552601"],
      );
      expect(r.output()).toContain("Twilio (Full account), calls from +14155550199: real phones ring");
      await push(env, "+14155552601");
      await until("the call to end", () => r.output().includes("finished    confirmed") || undefined, 30_000);
      await ctrlC(r);
      const simulated = runScript("local/tools/start.ts", [], env);
      expect([await simulated.ended, simulated.output()]).toEqual([1, expect.stringContaining("the carrier twilio")]);
      await carrier.close();
    },
    LONG_MS,
  );

  test(
    "a port that is taken is named in one line, with what to do",
    async () => {
      const env = await newcomerEnv();
      const taken = createServer().listen(Number(env["HTTP_PORT"]), "127.0.0.1");
      const r = runScript("local/tools/start.ts", [], env);
      expect(await r.ended).toBe(1);
      expect(r.output().trim()).toBe(
        `Port ${env["HTTP_PORT"]} (the API) is taken: stop the program that uses it, or choose another with HTTP_PORT=<port>.`,
      );
      taken.close();
    },
    LONG_MS,
  );

  test.each([
    ["HTTP_PORT", "99999", 'HTTP_PORT must be a number from 0 to 65535, not "99999".'],
    ["MEDIA_PORT", "same", "HTTP_PORT, MEDIA_PORT and CARRIER_PORT must be three different ports."],
  ])(
    "%s=%s is named in one line",
    async (name, port, said) => {
      const env = await newcomerEnv();
      const r = runScript("local/tools/start.ts", [], { ...env, [name]: port === "same" ? env["HTTP_PORT"]! : port });
      expect([await r.ended, r.output().trim()]).toEqual([2, said]);
    },
    LONG_MS,
  );

  test(
    "a folder that can't be written is named in one line",
    async () => {
      const file = join(mkdtempSync(join(tmpdir(), "callagent-file-")), "file");
      writeFileSync(file, "");
      const r = runScript("local/tools/start.ts", [], {
        ...(await newcomerEnv()),
        CALLAGENT_DATA: join(file, "data"),
      });
      expect(await r.ended).toBe(1);
      expect(r.output().trim().split("\n")).toHaveLength(1);
      expect(r.output()).toContain(`${join(file, "data")} can't be written`);
    },
    LONG_MS,
  );

  test(
    "too old a Node without the project's own gets one line that says what to do",
    async () => {
      const dir = mkdtempSync(join(tmpdir(), "callagent-old-"));
      writeFileSync(
        join(dir, "old.cjs"),
        "Object.defineProperty(process, 'versions', { value: { ...process.versions, node: '20.1.0' } });",
      );
      const { stderr } = await promisify(execFile)("bash", [
        "-c",
        `mkdir -p ${dir}/local/tools && cp ${join(ROOT, "local/tools/launch.cjs")} ${dir}/local/tools/ && ${process.execPath} --require ${dir}/old.cjs ${dir}/local/tools/launch.cjs local/tools/start.ts; test $? = 1`,
      ]);
      expect(stderr.trim()).toMatch(/^callagent needs Node 24, this is 20\.1\.0\. Run "npm ci"/);
    },
    LONG_MS,
  );
});
