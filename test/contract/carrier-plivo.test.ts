import { plivoDriver } from "./carrier-plivo.ts";
import { carrierSuite } from "./carrier.suite.ts";

carrierSuite("Plivo", plivoDriver);
