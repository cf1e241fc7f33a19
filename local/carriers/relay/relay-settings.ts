/** When the person may cut the agent off. */
export type Interruptible = "none" | "dtmf" | "speech" | "any";

/** ConversationRelay as asked for. https://www.twilio.com/docs/voice/twiml/connect/conversationrelay, https://developers.telnyx.com/docs/voice/programmable-voice/conversation-relay */
export interface RelaySettings {
  url: string;
  welcomeGreeting: string;
  welcomeGreetingInterruptible: Interruptible;
  interruptible: Interruptible;
  reportInputDuringAgentSpeech: Interruptible;
  preemptible: boolean;
  partialPrompts: boolean;
  dtmfDetection: boolean;
  transcriptionLanguage: string;
  events: string[];
  parameters: Record<string, string>;
}
