import { benchMixed } from "./schedule/mixed-versions.ts";
import { benchPush } from "./push/push.ts";
import { benchSchedule } from "./schedule/schedule.ts";
import { benchVoice } from "./voice/voice.ts";
import { benchWebhook } from "./webhook/webhook.ts";

const BENCHES: Record<string, () => Promise<void>> = {
  mixed: () => benchMixed({ perSecond: 20, seconds: 8, rounds: 3, largePerSecond: [1, 4] }),
  push: benchPush,
  schedule: benchSchedule,
  voice: benchVoice,
  webhook: benchWebhook,
};

const [, , name = ""] = process.argv;
const bench = BENCHES[name];
if (!bench) {
  console.error(`npm run bench -- <name>, where name is one of: ${Object.keys(BENCHES).join(", ")}`);
  process.exit(2);
}
await bench();
process.exit(0);
