import { join } from "node:path";

/** The project's root folder. */
export const ROOT = join(import.meta.dirname, "..", "..", "..");

/** The path of a program under local/. */
export const script = (name: string): string => join(ROOT, "local", name);
