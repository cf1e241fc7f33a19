import type { Store } from "../../../shared/database/mongo.ts";
import { currentLife, theScene } from "../engine/scene.ts";
import { storeAccess, storeTime } from "../engine/database.ts";
import { simulatedModel } from "../engine/simulated-model.ts";

export * from "../../../shared/database/mongo.ts";

/** In place of shared/database/mongo.ts's: the models of a process over the simulated database. */
export function openStore(): Store {
  const scene = theScene();
  const { stage, database } = scene;
  const life = currentLife();
  const run = storeAccess(stage, life, (operation) => {
    scene.onWrite(operation);
    return scene.change(operation);
  });
  return {
    // the services use a small part of a model; what is not there throws when it is used
    model: (collection, schema) =>
      simulatedModel(database.collection(collection, schema as never), schema as never, run) as never,
    open: () => Promise.resolve(),
    close: () => Promise.resolve(),
    onRefused: () => undefined,
    isUp: () => true,
    time: () => storeTime(stage, life),
    told: () => Promise.resolve(stage.told),
    tell: (told) => {
      stage.told = told;
      return Promise.resolve();
    },
  };
}
