import { ending, isDone, type Progress } from "./lead-run.ts";

/** Shows progress: a bar and a table that redraw themselves in a terminal, one line per change elsewhere. */
export interface Screen {
  show(all: Progress[]): void;
  end(): void;
}

const BAR = 40;
const ROWS_SHOWN = 20;
const ESC = "\u001b[";

/** A progress bar of `done` out of `total`. */
export const bar = (done: number, total: number): string => {
  const filled = total === 0 ? BAR : Math.round((done / total) * BAR);
  return `[${"#".repeat(filled)}${".".repeat(BAR - filled)}] ${done}/${total}`;
};

const rowLine = (p: Progress): string =>
  `${p.row.request_id.padEnd(14).slice(0, 14)} ${p.state.padEnd(11)} ${String(p.attempts).padStart(2)}  ${(p.state === "FINISHED" || p.state === "refused" ? ending(p) : "").padEnd(26).slice(0, 26)} ${p.reported ? "webhook" : ""}`.trimEnd();

/** Rows worth a place on the screen: those under way first, then those that ended last. */
const worthShowing = (all: Progress[]): Progress[] =>
  [...all.filter((p) => !isDone(p) && p.state !== "pushing"), ...all.filter(isDone).toReversed()].slice(0, ROWS_SHOWN);

function terminalScreen(out: NodeJS.WriteStream): Screen {
  let drawn = 0;
  return {
    show(all) {
      const lines = [
        bar(all.filter(isDone).length, all.length),
        "request_id     status      try outcome",
        ...worthShowing(all).map(rowLine),
      ];
      out.write(
        `${drawn > 0 ? `${ESC}${drawn}A` : ""}${lines.map((l) => `${ESC}2K${l.slice(0, (out.columns || 100) - 1)}`).join("\n")}\n${ESC}0J`,
      );
      drawn = lines.length;
    },
    end: () => undefined,
  };
}

function plainScreen(out: NodeJS.WriteStream): Screen {
  const shown = new Map<string, string>();
  return {
    show(all) {
      for (const p of all) {
        const line = rowLine(p);
        if (p.state === "pushing" || shown.get(p.row.request_id) === line) continue;
        shown.set(p.row.request_id, line);
        out.write(`${String(all.filter(isDone).length).padStart(3)}/${all.length}  ${line}\n`);
      }
    },
    end: () => undefined,
  };
}

/** The screen that fits the output. */
export const openScreen = (out: NodeJS.WriteStream): Screen => (out.isTTY ? terminalScreen(out) : plainScreen(out));
