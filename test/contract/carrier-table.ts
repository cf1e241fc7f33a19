import { readFileSync } from "node:fs";
import { join } from "node:path";
import { expect } from "@jest/globals";
import { ROOT } from "../../deploy/local/stack.ts";
import type { Capabilities } from "../../services/dialer/carriers/port.ts";

/** What can be shown of a carrier; each stands as a row in the README. */
export const FEATURES = [
  "speech",
  "media stream (audio)",
  "machines told from people",
  "end of a machine's greeting told",
  "keys from the callee",
  "keys to the callee",
  "transfer to another number",
  "recording, both sides apart",
  "inbound: taken, redirected, rejected",
  "price of a call",
  "callbacks signed",
  "WebSocket upgrade signed",
  "lost dial reply found again",
] as const;
/** One of them. */
export type Feature = (typeof FEATURES)[number];
/** What tests have shown, in the words of the table. */
export type Proofs = Map<Feature, string>;

const BEGIN = "<!-- carriers x features: written by hand, checked by test/contract/carrier-*.test.ts -->";
const END = "<!-- carriers x features: end -->";

/** A carrier's column as the suite has shown it; what it says it can't do needs no showing. */
export function columnOf(can: Capabilities, proved: Proofs): Record<Feature, string> {
  const without: Partial<Record<Feature, boolean>> = {
    "machines told from people": !can.machine_detection,
    "end of a machine's greeting told": !can.beep,
    "recording, both sides apart": can.recording === "none",
    "WebSocket upgrade signed": !can.signs_upgrade,
  };
  return Object.fromEntries(
    FEATURES.map((feature) => [feature, without[feature] === true ? "no" : (proved.get(feature) ?? "not shown")]),
  ) as Record<Feature, string>;
}

/** The README's column of this carrier is this one. */
export function expectColumn(name: string, column: Record<Feature, string>): void {
  const readme = readFileSync(join(ROOT, "README.md"), "utf8");
  const [head = "", , ...rows] = (readme.split(BEGIN)[1]?.split(END)[0] ?? "").trim().split("\n");
  const cells = (row: string): string[] =>
    row
      .split("|")
      .slice(1, -1)
      .map((c) => c.trim());
  const at = cells(head).indexOf(name);
  expect(
    Object.fromEntries(rows.map((row) => [cells(row)[0], at < 0 ? `the table has no column ${name}` : cells(row)[at]])),
  ).toEqual(column);
}
