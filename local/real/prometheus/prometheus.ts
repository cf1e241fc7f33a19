import { execFileSync } from "node:child_process";
import { program } from "../machine.ts";
import type { Part } from "../part.ts";

const version = (): string => execFileSync("promtool", ["--version"], { encoding: "utf8" }).split("\n")[0] ?? "";

/** Prometheus and promtool of the machine: the steps start the server themselves, each with data of its own. */
export const prometheus: Part = {
  name: "prometheus",
  about: "Prometheus with promtool, which scrapes the split product and judges metrics and alert rules",
  cost: "nothing: it is a program of the machine",
  needs: [program("prometheus", "apt-get install prometheus"), program("promtool", "apt-get install prometheus")],
  isInstalled: () => true,
  install: () => Promise.resolve(),
  start: () => Promise.resolve({ env: {}, versions: version(), stop: () => Promise.resolve() }),
};
