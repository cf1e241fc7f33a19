import { readEnv } from "../../shared/process/env.ts";
import { VARIABLES, type Variable } from "../../shared/process/variables.ts";
import { read, readEnvFile, variablesIn } from "./compose-file.ts";

describe("deploy/env.example", () => {
  const lines = readEnvFile("deploy/env.example", true);

  test.each(Object.entries<Variable>(VARIABLES))(
    "has %s once, with its default and what it is for",
    (name, variable) => {
      const found = lines.filter((l) => l.name === name);
      expect(found.map((l) => l.value)).toEqual([String(variable.default ?? "")]);
      expect(found[0]?.above).toContain(`# ${variable.doc}`);
      for (const word of [...(variable.values ?? []), variable.min, variable.max])
        if (word !== undefined) expect(found[0]?.above).toContain(String(word));
    },
  );

  test("has what docker-compose.yml takes, and nothing that nobody reads", () => {
    const taken = variablesIn(read("docker-compose.yml"));
    const listed = lines.map((l) => l.name);
    expect(taken.filter((name) => !listed.includes(name))).toEqual([]);
    expect(listed.filter((name) => !(name in VARIABLES) && !taken.includes(name))).toEqual([]);
    expect(new Set(listed).size).toBe(listed.length);
  });

  test("shows the defaults that docker-compose.yml has", () => {
    const text = read("docker-compose.yml");
    for (const { name, value } of lines.filter((l) => !(l.name in VARIABLES))) {
      const defaults = new Set(
        [...text.matchAll(new RegExp(String.raw`\$\{${name}(?::-([^}]*)|:\?[^}]*)\}`, "g"))].map((m) => m[1] ?? ""),
      );
      expect([name, [...defaults]]).toEqual([name, [value]]);
    }
  });

  test("changes nothing as it is, nor when all of it is uncommented", () => {
    expect(readEnvFile("deploy/env.example")).toEqual([]);
    expect(readEnv(Object.fromEntries(lines.map((l) => [l.name, l.value])))).toEqual(readEnv({}));
  });
});
