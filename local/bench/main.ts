import { benchEvents } from "./events/events.ts";
import { benchGuard } from "./guard/guard.ts";
import { benchMixed } from "./schedule/mixed-versions.ts";
import { benchPush } from "./push/push.ts";
import { benchSchedule } from "./schedule/schedule.ts";
import { benchSizing } from "./needs/process-needs.ts";
import { benchSpeech } from "./speech/speech.ts";
import { benchSessions } from "./voice/sessions.ts";
import { benchVoice } from "./voice/voice.ts";
import { benchWebhook } from "./webhook/webhook.ts";
import { runCommand } from "../../shared/process/command-line.ts";
import { BENCH, type AskedBench } from "../commands.ts";

const BENCHES: Record<string, (asked: AskedBench) => Promise<void>> = {
  events: benchEvents,
  guard: benchGuard,
  mixed: benchMixed,
  push: benchPush,
  schedule: benchSchedule,
  sessions: benchSessions,
  sizing: benchSizing,
  speech: benchSpeech,
  voice: benchVoice,
  webhook: benchWebhook,
};

await runCommand(BENCH, async ({ values, operands: [name = "", ...parts] }) => {
  await BENCHES[name]?.({ values, parts });
});
process.exit();
