import { readFileSync } from "node:fs";
import { brokenInvariants, quiet } from "../../local/harness/invariants.ts";
import { until } from "../../local/harness/stage.ts";
import { DESK, PIN, STORY, TALKS } from "../fixtures/product/audio-templates.ts";
import { agentOf, customerOf, heardOf, transcriptOf } from "../fixtures/product/audio-transcripts.ts";
import { audioCarrierSuite } from "./audio-carrier.suite.ts";
import { browserSessionSuite } from "./browser-session.suite.ts";
import { AudioScenes, closing, PROVIDERS, same, streamsOf, TEST_MS } from "./fixtures/audio-scenes.ts";

/** Conversations over real audio, through all three carriers at once: the acceptance checks of docs/conversations.md. Sound plays in real time, and holes in it are judged: it runs alone, for others on the same cores make some. */
const START_MS = 120_000;
const POLL_MS = 100;

const audio = new AudioScenes();
beforeAll(() => audio.start(), START_MS);
afterAll(async () => {
  if (audio.product) await audio.product.stop();
}, START_MS);

describe.each(PROVIDERS)("over the audio of %s", (provider) => audioCarrierSuite(audio, provider));

describe("a session in a browser", () => browserSessionSuite(audio));

describe("a conversation over audio", () => {
  beforeAll(() => audio.playOnce(["coughs", "hums", "secret", "relay", "realtime"]), TEST_MS);

  test(
    "8: a cough is no barge-in: the agent finishes its sentence",
    () =>
      audio.once("coughs", ({ lead, lines }) => {
        expect([lead.outcome, transcriptOf(lead)[1]?.content]).toEqual(["confirmed", STORY]);
        same(customerOf(lead), "Yes, please.");
        expect(heardOf(lines)).toMatch(/summer.*confirm it/);
      }),
    TEST_MS,
  );

  test(
    "8: a backchannel is no barge-in and no answer",
    () =>
      audio.once("hums", ({ lead }) => {
        expect([lead.outcome, transcriptOf(lead)[1]?.content]).toEqual(["confirmed", STORY]);
        same(customerOf(lead), "Yes, please.");
      }),
    TEST_MS,
  );

  test(
    "13: a silent caller is asked twice, then the call ends",
    () =>
      audio.once("silent", ({ lead, lines }) => {
        expect([lead.outcome, lead.metaData["call_ended_by"]]).toEqual(["silence", "timeout"]);
        expect(agentOf(lead).match(/still there/g)).toHaveLength(2);
        same(heardOf(lines), agentOf(lead));
      }),
    TEST_MS,
  );

  test(
    "13: the longest duration ends a conversation",
    () =>
      audio.once("talks_on", ({ lead, lines }) => {
        expect([lead.outcome, lead.metaData["call_ended_by"]]).toEqual(["call_timeout", "timeout"]);
        expect(closing(lines, "seconds")).toBeGreaterThan(9);
      }),
    TEST_MS,
  );

  test(
    "13: a call without incoming audio ends and counts as an error",
    () =>
      audio.once("no_media", ({ lead, lines }) => {
        expect(lead.outcome).toBe("call_error");
        expect(lines.filter((l) => l.kind === "hangup")).toHaveLength(1);
        expect(streamsOf(lines, "connected")).toEqual([]);
      }),
    TEST_MS,
  );

  test.each(["relay", "realtime"] as const)(
    "%s holds the same conversation, in the same run",
    (engine) =>
      audio.once(engine, ({ lead }) => {
        expect([lead.outcome, lead.metaData["node_traversal"]]).toEqual(["confirmed", ["ask", "done"]]);
        same(customerOf(lead), "Yes, please.");
      }),
    TEST_MS,
  );

  test(
    "21: a template that needs what the deployment lacks is not called, and the lead says why",
    () =>
      audio.once("impossible", ({ lead, lines }) => {
        expect([lead.outcome, lead.attempt_count, lines]).toEqual(["failed", 0, []]);
        expect(JSON.stringify(lead.metaData["errors"])).toMatch(
          /NOT_AVAILABLE.*model endpoint .*nowhere.* which this deployment does not have/,
        );
      }),
    TEST_MS,
  );

  test(
    "14, 22: secret DTMF is masked in transcript and webhook event",
    () =>
      audio.once("secret", ({ lead, called }) => {
        expect(lead.outcome).toBe("keyed");
        expect(
          [lead, audio.product.sink.reports.get(called.lead_id)].map((told) => JSON.stringify(told).includes(PIN)),
        ).toEqual([false, false]);
      }),
    TEST_MS,
  );

  test(
    "7: barge-in cancels the generation and the speech under way",
    async () => {
      await audio.allEnded();
      const before = (await audio.stage.requests()).length;
      await audio.stage.order("delays", { token_ms: 150 });
      await audio.stage.order("faults", { target: "speech", kind: "slow", times: 1, ms: 30_000 });
      await audio.play("news", await audio.stage.campaign("news", "PROVIDER_ONE", TALKS.news), [
        { wait_for: "speech", after_ms: 1000, say: "Stop, I confirm it." },
      ]);
      const aborted = await until(
        "requests to be let go",
        async () => {
          const kinds = (await audio.stage.requests())
            .slice(before)
            .filter((r) => r.end === "aborted")
            .map((r) => r.kind);
          return kinds.includes("chat") && kinds.includes("speech") ? kinds : undefined;
        },
        TEST_MS,
        POLL_MS,
      );
      await audio.stage.order("delays", { token_ms: 0 });
      expect(aborted).toEqual(expect.arrayContaining(["chat", "speech"]));
    },
    TEST_MS,
  );

  test(
    "22: the whole log, as fine as it gets, holds no key, token, phone number, secret or word of a conversation",
    async () => {
      await audio.allEnded();
      const log = readFileSync(audio.product.folder.at("callagent.log"), "utf8");
      const {
        model_key,
        twilio_auth_token,
        plivo_auth_token,
        telnyx_api_key,
        admin_password,
        jwt_private_key,
        secrets_key,
      } = audio.product.stack.secrets;
      const tokens = [
        ...JSON.stringify(await audio.product.ledger()).matchAll(/\/media\/[A-Z_]+\/([0-9a-f]{32})/g),
      ].map((m) => m[1] ?? "");
      const numbers = [DESK, ...audio.product.sample.numbers, ...audio.calledNumbers()];
      const words = ["neighbours", "Do you confirm", "Yes, please", "extension code", "talk to a human", "Thank you"];
      const secrets = [
        model_key,
        twilio_auth_token,
        plivo_auth_token,
        telnyx_api_key,
        admin_password,
        jwt_private_key,
        secrets_key,
        PIN,
        ...new Set(tokens),
        ...numbers,
        ...words,
      ];
      expect(tokens.length).toBeGreaterThan(0);
      expect(log).toContain("talk.ended");
      expect(secrets.filter((secret) => log.includes(secret))).toEqual([]);
    },
    TEST_MS,
  );

  test(
    "at the end every lead is settled and reported, every number free, every call over",
    async () => {
      const evidence = await quiet(audio.product);
      const outbound = evidence.calls.filter((call) => call.to.startsWith("+1212"));
      expect(
        brokenInvariants({
          ...evidence,
          calls: outbound,
          leads: evidence.leads.filter((l) => outbound.some((c) => c.reference?.startsWith(l._id))),
        }),
      ).toEqual([]);
    },
    TEST_MS,
  );
});
