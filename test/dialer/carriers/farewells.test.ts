import { systemClock } from "../../../shared/time/clock.ts";
import { farewells } from "../../../services/dialer/media/farewells.ts";
import { createCarriers } from "../../../services/dialer/carriers/carrier-registry.ts";
import { contracts } from "../../../shared/contracts/index.ts";
import { readEnv } from "../../../shared/process/env.ts";
import { issueChecker } from "../../../shared/validator.ts";

const env = readEnv({
  PROVIDER_ONE: "twilio",
  TWILIO_ACCOUNT_SID: "AC00000000000000000000000000000000",
  TWILIO_AUTH_TOKEN: "t",
  PROVIDER_TWO: "plivo",
  PLIVO_AUTH_ID: "MA000000000000000000",
  PLIVO_AUTH_TOKEN: "t",
  PROVIDER_THREE: "none",
});

describe("documents that end a call politely", () => {
  const documents = farewells(createCarriers(env, systemClock));
  const bodyOf = (provider: string, kind: string, language: string): string | undefined =>
    documents.find((d) => d.provider === provider && d.kind === kind && d.language === language)?.body;

  test("each XML-driven step of Plivo says a sentence in the conversation's language and ends the call", () => {
    for (const kind of ["answer", "turn", "transfer", "inbound"]) {
      expect(bodyOf("PROVIDER_TWO", kind, "de")).toMatch(
        /<Speak [^>]*language="de-DE"[^>]*>[^<]*Auf Wiederhören![^<]*<\/Speak><Hangup\/>/,
      );
      expect(bodyOf("PROVIDER_TWO", kind, "en")).toMatch(/language="en-US"[^>]*>[^<]*Goodbye!/);
    }
  });

  test("Twilio ends a call whose relay or stream is over without a word, and says one to a caller", () => {
    expect(bodyOf("PROVIDER_ONE", "relay-end", "de")).toContain("<Response><Hangup/></Response>");
    expect(bodyOf("PROVIDER_ONE", "inbound", "fr")).toMatch(/<Say language="fr">[^<]*Au revoir !<\/Say><Hangup\/>/);
  });

  test("notices have none, nor has a provider without an account; the answer fits the contract", () => {
    expect(bodyOf("PROVIDER_TWO", "status", "en")).toBeUndefined();
    expect(documents.some((d) => d.provider === "PROVIDER_THREE")).toBe(false);
    expect(issueChecker(contracts.dialer.actions.farewells.result)({ documents })).toEqual([]);
  });
});
