import { telnyxDriver } from "../../fixtures/carrier-suite/telnyx-driver.ts";
import { carrierSuite } from "../../fixtures/carrier-suite/carrier-suite.ts";

carrierSuite("Telnyx", telnyxDriver);
