import { read, readCompose, variablesIn, type Container } from "./compose-file.ts";

/** What a container of docker-compose.yml may do, and what it shows. Docker itself is not run here. */
const containers: [string, Container][] = Object.entries(readCompose().services);

test.each(containers)("%s writes nothing but what is mounted, has no capability and gains no rights", (_name, c) => {
  expect([c.read_only, c.cap_drop, c.security_opt]).toEqual([true, ["ALL"], ["no-new-privileges:true"]]);
});

test.each(containers)("%s does not run as root", (_name, c) => {
  const user = c.user ?? /^USER (\S+)$/m.exec(c.build ? read(c.build.dockerfile) : "")?.[1] ?? "root";
  expect(user).not.toMatch(/^(?:root|0)(?::|$)/);
});

test("what mongod writes lies on its volumes and in memory", () => {
  const mongo = containers.find(([name]) => name === "mongo")?.[1];
  expect(mongo).toMatchObject({ tmpfs: ["/tmp"], volumes: ["mongo-data:/data/db", "mongo-config:/data/configdb"] });
});

test("no variable that is secret stands in a command, which every user of the machine can read", () => {
  const shown = JSON.stringify(containers.map(([, c]) => [c.command, c.entrypoint, c.healthcheck]));
  expect(variablesIn(shown)).toContain("SIM_TIME_SCALE");
  expect(variablesIn(shown).filter((name) => /KEY|SECRET|TOKEN|PASSWORD|URI/.test(name))).toEqual([]);
});
