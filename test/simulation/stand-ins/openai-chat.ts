import type { ChatStream } from "../../../services/conversation/providers/port.ts";
import { currentLife, theScene } from "../engine/scene.ts";

/** In place of the language model: a sentence, now and then the decision that ends the conversation, now and then nothing. */
export const openAiChat = (): ChatStream =>
  async function* stream() {
    const { modelDecides, stage } = theScene();
    const { world } = stage;
    const life = currentLife();
    await new Promise<void>((resolve) => {
      world.after(world.random.chance(0.02) ? 9000 : world.random.between(50, 500), life, resolve);
    });
    if (modelDecides()) yield { type: "call", index: 0, id: "call_1", name: "confirm", arguments: "{}" };
    else yield { type: "text", text: "Would you confirm the order?" };
  };
