import { AccessToken } from "livekit-server-sdk";
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

/** A token of the server's own key that lets its holder join a room as the client of a session. `seconds`: how long from now; less than 0: it is over. */
export async function tokenFor(room: string, seconds: number): Promise<string> {
  const { LIVEKIT_API_KEY: key, LIVEKIT_API_SECRET: secret } = process.env;
  const token = new AccessToken(key, secret, { identity: "client", ttl: seconds });
  token.addGrant({ room, roomJoin: true });
  return token.toJwt();
}
