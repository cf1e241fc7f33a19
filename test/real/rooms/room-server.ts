import { livekitPid, LIVEKIT_FOLDER_VARIABLE, startLivekit } from "../../../local/real/livekit/livekit.ts";

const folder = (): string => process.env[LIVEKIT_FOLDER_VARIABLE] ?? "";

/** Sends a signal to the room server that the environment names. */
export function signalServer(signal: NodeJS.Signals): void {
  const pid = livekitPid(folder());
  if (pid === null) throw new Error("the server does not run");
  process.kill(pid, signal);
}

/** Starts the room server again that was killed. */
export const serverAgain = async (): Promise<void> => void (await startLivekit(folder()));
