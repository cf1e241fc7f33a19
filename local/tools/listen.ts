import { readFile, writeFile } from "node:fs/promises";
import { runCommand, UsageError, type Asked } from "../../shared/process/command-line.ts";
import { RATES } from "../speech/tones.ts";
import { utterancesIn, withSpeech } from "../speech/utterances.ts";
import type { Utterance } from "../speech/utterances.ts";
import { findSpeaker } from "../speech/voices.ts";
import type { Speaker } from "../speech/voices.ts";
import { readWav, writeWav } from "../speech/wav.ts";
import { LISTEN } from "./commands.ts";

/** Turns a recording of the simulators, whose words are tones, into one that a person can listen to. */

const CHANNELS = ["customer", "agent"];

async function listen({ values, operands }: Asked<typeof LISTEN>): Promise<void> {
  const [from = "", to = from.replace(/(\.wav)?$/i, ".speech.wav")] = operands;
  if (!/^[a-z]{2,3}(-[a-z0-9]+)*$/i.test(values.language))
    throw new UsageError(`--language must be a code such as en or de, not "${values.language}".`);
  const sound = readWav(await readFile(from));
  if (sound === null) throw new UsageError(`${from} is no WAV file of 16 bit PCM or G.711.`);
  const rate = RATES.find((one) => one === sound.rate);
  if (rate === undefined)
    throw new UsageError(`${from} has ${sound.rate} samples a second; ${RATES.join(", ")} can be read.`);
  const said = sound.channels.map((pcm) => utterancesIn(pcm, rate));
  tell(said, values.json);
  if (said.every((utterances) => utterances.length === 0))
    throw new UsageError(`${from} holds no words as the simulators speak them; it may be real speech already.`);
  const speaker = await findSpeaker(process.env["PATH"] ?? "", process.env["SPEECH"]);
  try {
    const channels: Int16Array[] = [];
    for (const [index, pcm] of sound.channels.entries())
      channels.push(
        withSpeech(
          pcm,
          rate,
          await spoken(said[index] ?? [], { speaker, voice: index === 0 ? 0 : 1, language: values.language, rate }),
        ),
      );
    await writeFile(to, writeWav({ rate, channels }));
  } finally {
    await speaker.close();
  }
  if (!values.json) console.log(`${to}: spoken by ${speaker.program}`);
}

async function spoken(
  said: readonly Utterance[],
  how: Readonly<{ speaker: Speaker; voice: 0 | 1; language: string; rate: number }>,
): Promise<{ utterance: Utterance; speech: Int16Array }[]> {
  const parts: { utterance: Utterance; speech: Int16Array }[] = [];
  for (const utterance of said)
    parts.push({
      utterance,
      speech: await how.speaker.say(
        { text: utterance.text, voice: how.voice, language: how.language },
        utterance.until_ms - utterance.at_ms,
        how.rate,
      ),
    });
  return parts;
}

function tell(said: readonly (readonly Utterance[])[], json: boolean): void {
  const all = said
    .flatMap((utterances, index) =>
      utterances.map((one) => ({ ...one, who: CHANNELS[index] ?? `channel ${index + 1}` })),
    )
    .sort((one, other) => one.at_ms - other.at_ms);
  if (json) return console.log(JSON.stringify(all, null, 2));
  for (const { who, text, at_ms } of all)
    console.log(`${(at_ms / 1000).toFixed(1).padStart(7)} s  ${who.padEnd(8)}  ${text}`);
}

await runCommand(LISTEN, listen);
