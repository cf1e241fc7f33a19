import { plivoDriver } from "../../fixtures/carrier-suite/plivo-driver.ts";
import { carrierSuite } from "../../fixtures/carrier-suite/carrier-suite.ts";

carrierSuite("Plivo", plivoDriver);
