import { UserError } from "../../shared/process/command-line.ts";
import type { Image } from "./images.ts";

const ASK_MS = 20_000;
/** Manifests of many platforms first, so that one digest holds on every machine (OCI image-spec, "Image Index"). */
const INDEXES = [
  "application/vnd.oci.image.index.v1+json",
  "application/vnd.docker.distribution.manifest.list.v2+json",
  "application/vnd.oci.image.manifest.v1+json",
  "application/vnd.docker.distribution.manifest.v2+json",
].join(", ");
const DIGEST = /^sha256:[a-f\d]{64}$/;

/** A registry that can't be reached, refuses, or has no such image; the message says which, for a person. */
export class RegistryError extends UserError {}

async function ask(url: string, headers: Record<string, string>, method: "GET" | "HEAD"): Promise<Response> {
  try {
    return await fetch(url, { method, headers, signal: AbortSignal.timeout(ASK_MS) });
  } catch (error) {
    const why =
      error instanceof Error ? (error.cause instanceof Error ? error.cause.message : error.message) : String(error);
    throw new RegistryError(`${new URL(url).host} can't be reached (${why})`);
  }
}

/** A token for pulling, as the challenge asks for it (distribution-spec, "Token Authentication"). */
async function tokenFor(challenge: string): Promise<string> {
  const said = Object.fromEntries([...challenge.matchAll(/(\w+)="([^"]*)"/g)].map((m) => [m[1] ?? "", m[2] ?? ""]));
  if (!/^Bearer /i.test(challenge) || said["realm"] === undefined)
    throw new RegistryError(
      `the registry asks for a log-in that this command doesn't know: ${challenge.split(" ")[0]}`,
    );
  const url = new URL(said["realm"]);
  for (const name of ["service", "scope"]) if (said[name] !== undefined) url.searchParams.set(name, said[name]);
  const answer = await ask(url.href, {}, "GET");
  const body: unknown = answer.ok ? await answer.json() : null;
  const token =
    typeof body === "object" && body !== null
      ? (Object.entries(body).find(([key]) => key === "token" || key === "access_token")?.[1] as unknown)
      : null;
  if (typeof token !== "string") throw new RegistryError(`${url.host} gave no token for ${said["scope"] ?? "pulling"}`);
  return token;
}

/**
 * The digest that a registry has for an image's tag (distribution-spec, "Pulling manifests").
 * Throws RegistryError.
 */
export async function digestOf(image: Image, registry = image.registry): Promise<string> {
  const url = `${registry}/v2/${image.repository}/manifests/${image.tag}`;
  let answer = await ask(url, { accept: INDEXES }, "HEAD");
  if (answer.status === 401) {
    const token = await tokenFor(answer.headers.get("www-authenticate") ?? "");
    answer = await ask(url, { accept: INDEXES, authorization: `Bearer ${token}` }, "HEAD");
  }
  if (!answer.ok) throw new RegistryError(`${new URL(url).host} answers ${answer.status} for ${image.written}`);
  const digest = answer.headers.get("docker-content-digest") ?? "";
  if (!DIGEST.test(digest)) throw new RegistryError(`${new URL(url).host} names no digest for ${image.written}`);
  return digest;
}
