import { existsSync, readdirSync, statSync } from "node:fs";
import { join } from "node:path";
import { importsOf } from "../house/code.ts";
import { readProject, ROOT } from "../house/sources.ts";
import { read, readCompose } from "./compose-file.ts";

const FILE = "deploy/docker/Dockerfile";

/** The Dockerfile's instructions, comments and continued lines resolved. */
const instructions = read(FILE)
  .replaceAll(/^\s*#.*\n/gm, "")
  .replaceAll("\\\n", " ")
  .split("\n")
  .filter((line) => line.trim() !== "")
  .map((line) => ({ word: line.split(" ")[0] ?? "", rest: line.slice(line.indexOf(" ") + 1).trim() }));
const of = (word: string): string[] => instructions.filter((i) => i.word === word).map((i) => i.rest);
const listOf = (word: string): string[] => JSON.parse(of(word)[0] ?? "[]") as string[];
const copied = of("COPY").flatMap((rest) => rest.split(/\s+/).slice(0, -1));

const project = readProject();
const manifest = JSON.parse(read("package.json")) as {
  dependencies: Record<string, string>;
  devDependencies: Record<string, string>;
};

/** Everything a program loads: files of the project, and packages with the file that asks for them. */
function loadedFrom(entries: readonly string[]): { files: string[]; packages: [string, string][] } {
  const files = new Set(entries);
  const packages = new Map<string, string>();
  const open = [...entries];
  for (let path = open.pop(); path !== undefined; path = open.pop()) {
    const source = project.find((f) => f.path === path);
    if (!source) throw new Error(`${path} is loaded, but is not there`);
    for (const i of importsOf(source).filter((found) => !found.typeOnly)) {
      if (!i.relative) {
        if (!i.target.startsWith("node:")) packages.set(i.target, path);
        continue;
      }
      if (files.has(i.target)) continue;
      files.add(i.target);
      open.push(i.target);
    }
  }
  return { files: [...files], packages: [...packages] };
}

const services = project.filter((f) => f.path.endsWith(".service.ts")).map((f) => f.path);
const programs = Object.values(readCompose().services).flatMap((c) =>
  c.entrypoint?.[0] === "node" ? c.command.slice(0, 1) : [],
);
const entries = ["moleculer.config.ts", "deploy/docker/health.ts", ...services, ...programs];

describe("the image", () => {
  test("is one stage on Node 24 with the locked dependencies and no development ones", () => {
    expect(of("FROM")).toEqual(["node:24.21.0-slim"]);
    expect(of("RUN").join("\n")).toMatch(/\bnpm ci --omit=dev\b/);
    expect(Object.keys(manifest.devDependencies)).toContain("node");
  });

  test("copies what exists, and .dockerignore lets it through", () => {
    const allowed = read(".dockerignore")
      .split("\n")
      .filter((line) => line.startsWith("!"))
      .map((line) => line.slice(1));
    expect(copied.filter((path) => !existsSync(join(ROOT, path)))).toEqual([]);
    expect(copied.filter((path) => !allowed.includes(path))).toEqual([]);
  });

  test("holds every file and package that its programs load", () => {
    const { files, packages } = loadedFrom(entries);
    expect(services.length).toBeGreaterThanOrEqual(11);
    expect(files.filter((path) => !copied.some((c) => path === c || path.startsWith(`${c}/`)))).toEqual([]);
    expect(packages.filter(([name]) => !(name in manifest.dependencies))).toEqual([]);
    expect(packages.map(([name]) => name)).toEqual(expect.arrayContaining(["moleculer", "mongoose", "nats"]));
  });

  test("does not run as root and ends on SIGTERM", () => {
    expect(of("USER")).toEqual(["node"]);
    expect(instructions.findIndex((i) => i.word === "USER")).toBeGreaterThan(
      instructions.findLastIndex((i) => i.word === "COPY" || i.word === "RUN"),
    );
    expect(of("STOPSIGNAL")).toEqual(["SIGTERM"]);
  });

  test("starts the runner with config and mask on all services, and checks itself", () => {
    const [node, runner = "?", ...options] = listOf("ENTRYPOINT");
    expect(node).toBe("node");
    expect(existsSync(join(ROOT, runner))).toBe(true);
    expect(runner.split("/")[1]).toBe("moleculer");
    expect(options).toEqual(["--config", "moleculer.config.ts", "--mask", "**/*.service.ts"]);
    const [folder = "?"] = listOf("CMD");
    expect(statSync(join(ROOT, folder)).isDirectory() && readdirSync(join(ROOT, folder)).includes("leads")).toBe(true);
    expect(of("HEALTHCHECK").join("")).toContain('"deploy/docker/health.ts"');
  });
});
