import type { MediaServer, MediaServerOptions } from "../../../services/conversation/transport/media-server.ts";
import { currentLife, theScene } from "../engine/scene.ts";

export * from "../../../services/conversation/transport/media-server.ts";

/** In place of the WebSocket server: a port that the simulated carrier connects to. */
export function startMediaServer(options: MediaServerOptions<never>): Promise<MediaServer> {
  const { mediaPorts } = theScene();
  const port = { life: currentLife(), options };
  mediaPorts.push(port);
  return Promise.resolve({ port: 3001, refuse: () => undefined, close: () => Promise.resolve() });
}
