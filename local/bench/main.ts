import { benchMixed } from "./schedule/mixed-versions.ts";
import { benchPush } from "./push/push.ts";
import { benchSchedule } from "./schedule/schedule.ts";
import { benchSpeech } from "./speech/speech.ts";
import { benchSessions } from "./voice/sessions.ts";
import { benchVoice } from "./voice/voice.ts";
import { benchWebhook } from "./webhook/webhook.ts";

const BENCHES: Record<string, () => Promise<void>> = {
  mixed: () => benchMixed({ perSecond: 4, seconds: 12, rounds: 4, largePerSecond: [1, 4] }),
  push: benchPush,
  schedule: benchSchedule,
  sessions: benchSessions,
  speech: benchSpeech,
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
process.exit();
