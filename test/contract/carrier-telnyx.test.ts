import { telnyxDriver } from "./carrier-telnyx.ts";
import { carrierSuite } from "./carrier.suite.ts";

carrierSuite("Telnyx", telnyxDriver);
