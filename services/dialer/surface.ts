/* The surface of the dialer that is not pure: Twilio's REST client, for tools outside of the services. */
export { openRest as openTwilio } from "./carriers/twilio/rest.ts";
