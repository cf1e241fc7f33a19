import { UserError } from "../../shared/process/command-line.ts";

/** A real server is missing something, or could not be installed or started. The message says what, where and what to do. */
export class PartError extends UserError {}

/** What a part needs of the machine. */
export interface Need {
  /** What is missing where it is not there, and how to get it. */
  missing: string;
  isThere(): boolean;
}

/** A part that runs. */
export interface Running {
  /** What programs are given to use it. */
  env: Record<string, string>;
  /** Its versions, as it tells them itself. */
  versions: string;
  stop(): Promise<void>;
}

/** A server that nobody here wrote: what it needs, how it is installed and started. */
export interface Part {
  name: string;
  /** What it is. */
  about: string;
  /** Room and time that the first installation takes, and where it comes from. */
  cost: string;
  needs: readonly Need[];
  /** `folder` is the part's own, and holds everything that belongs to it. */
  isInstalled(folder: string): boolean;
  /** Throws PartError when something cannot be had. */
  install(folder: string): Promise<void>;
  /** Starts it empty; what an earlier run left running there is stopped first. Throws PartError. */
  start(folder: string): Promise<Running>;
}
