import type { Store } from "../../../shared/database/mongo.ts";
import { currentLife, theScene, type Scene } from "../engine/scene.ts";
import { storeAccess, storeTime, type Run } from "../engine/database.ts";
import { simulatedModel } from "../engine/simulated-model.ts";

export * from "../../../shared/database/mongo.ts";

type Note = NonNullable<Scene["onStatement"]>;

/** The same work, noted once it is over. */
const noted =
  <T>(note: Note, what: string, asked: object, work: () => Promise<T>) =>
  async (): Promise<T> => {
    let answer: T | null = null;
    try {
      answer = await work();
      return answer;
    } finally {
      note(what, asked, answer);
    }
  };

const notedBy =
  (note: Note, access: Run): Run =>
  (operation, work) => {
    const { collection, verb, filter, update, docs } = operation;
    return noted(note, `${verb} ${collection}`, { filter, update, docs }, () => access(operation, work))();
  };

/** In place of shared/database/mongo.ts's: the models of a process over the simulated database. */
export function openStore(): Store {
  const scene = theScene();
  const { stage, database } = scene;
  const life = currentLife();
  const access = storeAccess(stage, life, (operation) => {
    scene.onWrite(operation);
    return scene.change(operation);
  });
  const { onStatement } = scene;
  const run: Run = onStatement ? notedBy(onStatement, access) : access;
  const time = (): Promise<Date> => storeTime(stage, life);
  return {
    // the services use a small part of a model; what is not there throws when it is used
    model: (collection, schema) =>
      simulatedModel(database.collection(collection, schema as never), schema as never, run) as never,
    open: () => Promise.resolve(),
    close: () => Promise.resolve(),
    onRefused: () => undefined,
    isUp: () => true,
    time: onStatement ? noted(onStatement, "read the clock", {}, time) : time,
    told: () => {
      onStatement?.("find told_time", {}, stage.told);
      return Promise.resolve(stage.told);
    },
    tell: (told) => {
      onStatement?.("update told_time", told, null);
      stage.told = told;
      return Promise.resolve();
    },
  };
}
