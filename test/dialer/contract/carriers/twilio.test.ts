import { twilioDriver } from "../../fixtures/carrier-suite/twilio-driver.ts";
import { carrierSuite } from "../../fixtures/carrier-suite/carrier-suite.ts";

carrierSuite("Twilio", twilioDriver);
