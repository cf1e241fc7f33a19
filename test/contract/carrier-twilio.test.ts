import { twilioDriver } from "./carrier-twilio.ts";
import { carrierSuite } from "./carrier.suite.ts";

carrierSuite("Twilio", twilioDriver);
