const UNSPEAKABLE = /[*`\p{Extended_Pictographic}\u{FE0F}\u{200D}]/gu;

/** A model's text without markup and emoji, which a voice would read aloud; works piece by piece. Digits, # and © stay: they can be spoken. */
export const plainText = (text: string): string => text.replace(UNSPEAKABLE, (c) => (/[©®™]/.test(c) ? c : ""));
