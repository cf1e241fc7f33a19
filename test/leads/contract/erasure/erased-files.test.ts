import { mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, expect, test } from "@jest/globals";
import { startStore } from "../../../../local/store/server.ts";
import { Retries } from "../../../../local/store/storage/retryable-writes.ts";
import { Storage } from "../../../../local/store/storage/storage.ts";
import { erasureStage } from "../../fixtures/erasure-stage.ts";

const dir = mkdtempSync(join(tmpdir(), "erased-files-"));
afterAll(() => rmSync(dir, { recursive: true, force: true }));

/** After so long the store forgets its answers to writes that may be repeated. */
const ANSWERS_GONE_MS = 31 * 60_000;
/** Leads of other numbers, so that pages of the file are filled, split and joined around what is erased. */
const OTHERS = 60;

/** Files of the store in which one of these texts stands. */
const filesWith = (texts: readonly string[]): string[] =>
  readdirSync(dir).filter((name) => {
    const bytes = readFileSync(join(dir, name));
    return texts.some((text) => bytes.includes(text));
  });

/** What the store does by itself when half an hour has passed. */
function forgetAnswers(): void {
  const storage = new Storage(dir);
  new Retries(storage).sweep(Date.now() + ANSWERS_GONE_MS);
  storage.close();
}

test("an erased number is in no file that the embedded store leaves; the others are", async () => {
  const store = await startStore({ dir, port: 0 });
  const uri = new URL(store.url);
  uri.pathname = "/erasures";
  const it = await erasureStage({ MONGODB_URI: uri.href });
  const erased = it.fresh();
  const other = it.fresh();
  const national = erased.spellings[1] ?? "";
  for (let i = 0; i < OTHERS; i++) {
    await it.push(i === OTHERS / 2 ? other.e164 : it.fresh().e164);
    if (i % 10 === 0) {
      const lead_id = await it.push(erased.e164, { request_id: `call ${national} ${i}` });
      await it.settle(lead_id, await it.claim(lead_id), national);
      await it.leaveCall(lead_id, erased.e164);
      await it.leaveInbound(erased.e164);
    }
  }
  expect(filesWith(erased.spellings).length).toBeGreaterThan(0);

  const { id } = await it.erase(erased.e164);
  await it.reached(id, "the number to be erased", ({ state }) => state === "done");
  await it.stop();
  await store.close();
  forgetAnswers();
  expect(filesWith(erased.spellings)).toEqual([]);
  expect(filesWith(other.spellings)).toEqual(["store.sqlite"]);
});
