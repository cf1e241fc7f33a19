import { REPLACED } from "../stand-ins/replace-modules.ts";

const ROOT = new URL("../../../", import.meta.url);
const exportsOf = async (path: string): Promise<string[]> =>
  Object.keys((await import(new URL(path, ROOT).href)) as object).sort();

test.each(Object.entries(REPLACED))(
  "every export of the stand-in of %s is one of the real module",
  async (real, standIn) => {
    const there = await exportsOf(real);
    expect(there).toEqual(expect.arrayContaining(await exportsOf(`test/simulation/stand-ins/${standIn}`)));
  },
);
