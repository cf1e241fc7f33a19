/** Path before every endpoint of the API. */
export const BASE_PATH = "/agent/voice/callagent";
