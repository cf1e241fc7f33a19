import { setScene, type Scene, type SceneOptions } from "../../local/faults/scene.ts";
import { invariants } from "../../local/harness/invariants.ts";
import { SCENARIOS } from "../../local/faults/scenarios.ts";
import { IS_LONG_FORM } from "../fixtures/long-form.ts";

const TEST_MS = 240_000;

const PLAYED = Object.entries(SCENARIOS).filter(([, { long }]) => IS_LONG_FORM || long !== true);

/** Whose runs the database judges besides: no clock is set in them, and no number's lines. */
const INVARIANTS: readonly string[] = ["bus-away", "store-away"];

/** `npm run faults` as a test: each scenario once, the long ones in the long form only (as in `npm run test:real`), judged by the carrier's ledger and the API alone. */
describe("a fault, judged from outside", () => {
  let scene: Scene | null = null;
  let set = "";
  const end = async (): Promise<void> => {
    const over = scene;
    scene = null;
    await over?.end();
  };
  afterAll(end, TEST_MS);

  /** The scene that is set already, where the one before left it whole and asked for the same. */
  const sceneOf = async (options: Omit<SceneOptions, "say">): Promise<Scene> => {
    const asked = JSON.stringify(options);
    if (scene !== null && set === asked) return scene;
    await end();
    set = asked;
    return (scene = await setScene({ ...options, say: () => undefined }));
  };

  test.each(PLAYED)(
    "%s: conversations go on, nobody is called twice, all resumes by itself",
    async (name, { scene: options, play, seconds }) => {
      const here = await sceneOf(options(seconds));
      const wrong = await play(here, seconds).catch((error: unknown) => [String(error)]);
      if (wrong.length > 0) await end();
      expect(wrong).toEqual([]);
      if (INVARIANTS.includes(name)) await invariants(here.product);
    },
    TEST_MS,
  );
});
