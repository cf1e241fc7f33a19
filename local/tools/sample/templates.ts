import { appointmentReminder } from "./appointment-reminder.ts";
import { orderConfirmation } from "./order-confirmation.ts";
import type { SampleTemplate } from "./template.ts";

/** The sample tenant's templates; the leads of leads.csv are for the first. */
export const sampleTemplates: readonly SampleTemplate[] = [orderConfirmation, appointmentReminder];

/** The number the demo puts on the blacklist before it pushes leads.csv. */
export const BLACKLISTED_NUMBER = "+14155559901";
