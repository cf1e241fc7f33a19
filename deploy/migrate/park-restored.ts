import { leadSchema, type LeadDoc } from "../../services/leads/leads.model.ts";
import { parkRestoredLeads } from "../../services/leads/restored-leads.ts";
import { openStore } from "../../shared/database/mongo.ts";
import { randomIds } from "../../shared/ids.ts";
import { runCommand, UserError } from "../../shared/process/command-line.ts";
import { readEnv } from "../../shared/process/env.ts";
import { systemClock } from "../../shared/time/clock.ts";
import { PARK_RESTORED } from "../commands.ts";

/**
 * `npm run restore:park`: a database that was restored from a copy does not know whom the deployment has called since that copy was made. Every unfinished lead that
 * may be called is parked, before any process starts, until somebody resumes it (docs/operations.md). It may be run again.
 */
async function park(): Promise<void> {
  const store = openStore(readEnv().MONGODB_URI, { migrate: false, patient: true });
  try {
    await store.open();
    const parked = await parkRestoredLeads(store.model<LeadDoc>("leads", leadSchema), randomIds, systemClock);
    process.stdout.write(
      `${parked} leads are parked. GET /leads?parked=true lists them, POST /leads/resume lets them be called.\n`,
    );
  } finally {
    await store.close();
  }
}

await runCommand(PARK_RESTORED, () =>
  park().catch((error: unknown) => {
    throw new UserError(`The leads could not be parked: ${error instanceof Error ? error.message : String(error)}`, {
      cause: error,
    });
  }),
);
