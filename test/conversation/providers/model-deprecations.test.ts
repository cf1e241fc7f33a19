import { existsSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { LAPTOP_MODEL } from "../../../local/tools/stack/model-choice.ts";
import { ROOT } from "../../../local/tools/stack/project-root.ts";
import {
  DEPRECATIONS,
  shutdownDateOf,
  deprecationsIn,
} from "../../../services/conversation/providers/model-deprecations.ts";
import { readEnv } from "../../../shared/process/env.ts";

const RESOURCES = join(ROOT, "node_modules", "openai", "resources");
const FILES = [
  "shared.d.ts",
  "audio/audio.d.ts",
  "audio/speech.d.ts",
  "audio/transcriptions.d.ts",
  "realtime/realtime.d.ts",
];
const names = Object.values(DEPRECATIONS).flat();

/** Days by model, as the installed package announces them. */
function announced(): Map<string, string> {
  const days = new Map<string, string>();
  for (const file of FILES) {
    const text = readFileSync(join(RESOURCES, file), "utf8")
      .replace(/\n\s*\*\s?/g, " ")
      .replace(/\s+/g, " ");
    for (const [, list = "", on = ""] of text.matchAll(
      /((?:"[\w.-]+",? )*"[\w.-]+"): Announced shutdown date: (\d{4}-\d\d-\d\d)/g,
    )) {
      for (const [, name = ""] of list.matchAll(/"([^"]+)"/g)) days.set(name, on);
    }
  }
  return days;
}

describe("hosted models with an announced shutdown", () => {
  test("are those that the openai package names, with its days", () => {
    const days = announced();
    expect(days.size).toBeGreaterThan(50);
    expect([...days].filter(([name, on]) => shutdownDateOf(name) !== on)).toEqual([]);
    // told in the text of the speech endpoint only
    expect(names.filter((name) => !days.has(name))).toEqual(["gpt-4o-mini-tts-2025-03-20"]);
    expect(new Set(names).size).toBe(names.length);
  });
  test.each([
    ["tts-1", "2027-01-06"],
    ["gpt-4o-mini-tts", "2027-01-06"],
    ["gpt-realtime", "2027-01-20"],
    ["whisper-1", "2027-02-26"],
    ["gpt-4o-transcribe", "2027-02-26"],
    ["gpt-realtime-2.1", null],
    ["gpt-realtime-2.1-mini", null],
    ["gpt-transcribe", null],
    ["gpt-live-transcribe", null],
    ["callagent-sim", null],
  ])("%s: %s", (model, on) => expect(shutdownDateOf(model)).toBe(on));

  test("no default names one", () => {
    expect(shutdownDateOf(LAPTOP_MODEL)).toBeNull();
    const sources = readdirSync(join(ROOT, "services"), { recursive: true, encoding: "utf8" }).filter(
      (path) => path.endsWith(".ts") && !path.endsWith("model-deprecations.ts"),
    );
    const using = sources.filter((path) => {
      const text = readFileSync(join(ROOT, "services", path), "utf8");
      return names.some((name) => text.includes(`"${name}"`));
    });
    expect(using).toEqual([]);
    expect(existsSync(join(ROOT, "docs", "models.md"))).toBe(true);
  });
});

describe("those a deployment is configured with", () => {
  test("each setting is named with its day; the others are left alone", () => {
    const env = readEnv({
      OPENAI_MODEL: "gpt-4o",
      OPENAI_FALLBACK_BASE_URL: "https://other.example/v1",
      OPENAI_FALLBACK_MODEL: "gpt-4.1",
      STT_BASE_URL: "https://api.openai.com/v1",
      STT_MODEL: "whisper-1",
      TTS_BASE_URL: "https://api.openai.com/v1",
      TTS_MODEL: "tts-1",
      REALTIME_BASE_URL: "wss://api.openai.com/v1",
      REALTIME_MODEL: "gpt-realtime-2.1",
      MODEL_ENDPOINTS: JSON.stringify({
        old: { base_url: "wss://api.openai.com/v1", model: "gpt-realtime", key: "sk-hidden" },
      }),
    });
    expect(deprecationsIn(env)).toEqual([
      { setting: "OPENAI_MODEL", model: "gpt-4o", on: "2027-01-14" },
      { setting: "OPENAI_FALLBACK_MODEL", model: "gpt-4.1", on: "2027-01-14" },
      { setting: "STT_MODEL", model: "whisper-1", on: "2027-02-26" },
      { setting: "TTS_MODEL", model: "tts-1", on: "2027-01-06" },
      { setting: "MODEL_ENDPOINTS.old", model: "gpt-realtime", on: "2027-01-20" },
    ]);
  });
  test("a server in the house may call its model what it likes", () => {
    expect(
      deprecationsIn(
        readEnv({
          OPENAI_BASE_URL: "http://vllm:8000/v1",
          OPENAI_MODEL: "gpt-4o",
          STT_BASE_URL: "http://speaches:8000/v1",
          STT_MODEL: "whisper-1",
        }),
      ),
    ).toEqual([]);
  });
  test("nothing configured, nothing to say", () => expect(deprecationsIn(readEnv({}))).toEqual([]));
});
