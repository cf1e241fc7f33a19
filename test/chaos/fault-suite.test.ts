import { setScene, type Scene } from "../../local/faults/scene.ts";
import { SCENARIOS } from "../../local/faults/scenarios.ts";

const TEST_MS = 240_000;

const SHORT = Object.entries(SCENARIOS).filter(([, { long }]) => long !== true);

/** The short form of `npm run faults`: each scenario but the longest once, judged by the carrier's ledger and the API alone. */
describe("a fault, judged from outside", () => {
  let scene: Scene | null = null;
  afterEach(async () => {
    await scene?.end();
    scene = null;
  }, TEST_MS);

  test.each(SHORT)(
    "%s: conversations go on, nobody is called twice, all resumes by itself",
    async (_name, { scene: options, play, seconds }) => {
      scene = await setScene({ ...options(seconds), say: () => undefined });
      expect(await play(scene, seconds)).toEqual([]);
    },
    TEST_MS,
  );
});
