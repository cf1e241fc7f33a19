import { currentLife, theScene } from "../engine/scene.ts";

/** In place of shared/process/crash.ts: at any named point the process may die, by chance. */
export function crashPoint(_env: unknown, point: string): void {
  const { stage } = theScene();
  const life = currentLife();
  if (!life.process.mortal || !life.alive || !stage.strikes(`crash point ${point}`, stage.faults.crashPoint)) return;
  stage.crash(life.process, point);
  throw new Error("this process is dead");
}
