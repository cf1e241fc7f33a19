import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { readEnv } from "../../../shared/process/env.ts";

const folder = mkdtempSync(join(tmpdir(), "callagent-secrets-"));
afterAll(() => rmSync(folder, { recursive: true }));
const file = (text: string): string => {
  const path = join(folder, "secret");
  writeFileSync(path, text);
  return path;
};

describe("secrets in files", () => {
  test("are read as if the variable held them, without the line's end", () => {
    expect(readEnv({ TWILIO_AUTH_TOKEN_FILE: file("from-a-file\n") }).TWILIO_AUTH_TOKEN).toBe("from-a-file");
    expect(readEnv({ MONGODB_URI_FILE: file("mongodb://db/x") }).MONGODB_URI).toBe("mongodb://db/x");
  });

  test("an empty file counts as unset", () => {
    expect(readEnv({ TWILIO_AUTH_TOKEN_FILE: file("\n") }).TWILIO_AUTH_TOKEN).toBeUndefined();
  });

  test("one that is not there, and a secret that is set twice, are refused by name and without the secret", () => {
    expect(() => readEnv({ JWT_PRIVATE_KEY_FILE: join(folder, "gone") })).toThrow(/JWT_PRIVATE_KEY_FILE names .*gone/);
    const twice = { TWILIO_AUTH_TOKEN: "s3cret", TWILIO_AUTH_TOKEN_FILE: file("other") };
    expect(() => readEnv(twice)).toThrow(/TWILIO_AUTH_TOKEN and TWILIO_AUTH_TOKEN_FILE are set/);
    expect(() => readEnv(twice)).not.toThrow(/s3cret|other/);
  });

  test("what is no secret has no file", () => {
    expect(readEnv({ LOG_LEVEL_FILE: file("debug") }).LOG_LEVEL).toBe("info");
  });
});
