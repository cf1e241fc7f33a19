import type { Part } from "../../local/real/part.ts";
import { command, type Asked as Read } from "../../shared/process/command-line.ts";

/** What was asked for. */
export interface Asked {
  parts: readonly Part[];
  short: boolean;
  /** Parts that miss something on this machine are left out, and named. */
  able: boolean;
  dir: string | undefined;
  /** The only step of each part that is done; absent: all. */
  step: string | undefined;
  /** For the steps that call leads by number. */
  leads: number | undefined;
  does: "test" | "serve" | "needs";
}

/** `npm run test:real`, with its parts. */
export const testReal = (parts: readonly Part[]) =>
  command({
    name: "test:real",
    about:
      "Installs servers that nobody here wrote, runs the product against them, and stops them. Without a part all are used.",
    operands: [{ name: "part", many: true, values: parts.map(({ name }) => name) }],
    options: {
      short: { kind: "flag", about: "the demo and the HTTP tests alone: under ten minutes once installed" },
      able: { kind: "flag", about: "leaves out the parts that miss something on this machine, and says what" },
      dir: {
        kind: "text",
        value: "path",
        about: "installs there; absent: CALLAGENT_REAL_DIR, or callagent-real in the user's cache folder",
      },
      step: { kind: "text", value: "name", about: "of each part this step alone, by the name that a run prints" },
      leads: {
        kind: "number",
        value: "n",
        min: 1,
        max: 100_000,
        whole: true,
        about: "step kills: so many leads; above 200 without carriers and audio; 10000 take 20 minutes",
      },
      serve: { kind: "flag", about: "starts the parts, prints the variables that use them, and runs until Ctrl-C" },
      needs: { kind: "flag", about: "says what the parts miss on this machine; status 3 where they miss something" },
    },
    notes: ["Parts:", ...parts.map(({ name, about }) => `  ${name.padEnd(12)} ${about}`)].join("\n"),
  });

/** What was asked for. */
export const askedOf = (
  { values: { short, able, dir, step, leads, serve, needs }, operands }: Read<ReturnType<typeof testReal>>,
  parts: readonly Part[],
): Asked => ({
  parts: operands.length === 0 ? parts : parts.filter((p) => operands.includes(p.name)),
  short,
  able,
  dir,
  step,
  leads,
  does: needs ? "needs" : serve ? "serve" : "test",
});
