/** A container image as a file names it. */
export interface Image {
  /** The path within its registry, `library/nats`. */
  repository: string;
  /** The registry's address, `https://registry-1.docker.io`. */
  registry: string;
  tag: string;
  /** `sha256:…` where it is pinned. */
  digest: string | null;
  /** As it stands in the file. */
  written: string;
}

/** Docker Hub, where a name without a registry's host lies (distribution reference grammar, "familiar names"). */
export const DOCKER_HUB = "https://registry-1.docker.io";

/** The files that name images. */
export const IMAGE_FILES = ["docker-compose.yml", "deploy/docker/Dockerfile"] as const;

const REFERENCE =
  /^(?:(?<host>[\w-]+(?:\.[\w.-]+|:\d+)[^/]*)\/)?(?<path>[\w./-]+?)(?::(?<tag>[\w.-]+))?(?:@(?<digest>sha256:[a-f\d]{64}))?$/;
/** `image:` of a compose file, `FROM` of a Dockerfile; not what a variable names. */
const NAMED = /^(?:\s*image:\s*|FROM\s+)(?<name>[^\s${}"]+)\s*(?:#.*)?$/gm;

/** The images that a compose file or a Dockerfile names by themselves. */
export function imagesIn(text: string): Image[] {
  return [...text.matchAll(NAMED)].flatMap(({ groups: line }) => {
    const written = line?.["name"] ?? "";
    const parts = REFERENCE.exec(written)?.groups;
    if (!parts) return [];
    const path = parts["path"] ?? "";
    const host = parts["host"];
    return [
      {
        registry: host === undefined ? DOCKER_HUB : `https://${host}`,
        repository: host === undefined && !path.includes("/") ? `library/${path}` : path,
        tag: parts["tag"] ?? "latest",
        digest: parts["digest"] ?? null,
        written,
      },
    ];
  });
}

/** A tag that names one release: three numbers, `24.21.0-slim`; one or two go on to the next release by themselves. */
export const isExactTag = (tag: string): boolean => /^v?\d+\.\d+\.\d+(?:[-+.]\w[\w.-]*)?$/.test(tag);

/** What is wrong with a file's images, a line each. */
export const faultsOfImages = (path: string, text: string): string[] =>
  imagesIn(text)
    .filter((image) => !isExactTag(image.tag))
    .map((image) => `${path}: ${image.written} has no exact version: name one release, such as 1.2.3 or 1.2.3-slim`);

/** The image with its digest, tag kept for the reader. */
export const pinned = (image: Image, digest: string): string => `${image.written.split("@")[0]}@${digest}`;

/** A file with its images pinned; `digests` by what is written. */
export const withDigests = (text: string, digests: ReadonlyMap<string, string>): string =>
  text.replaceAll(NAMED, (line, name: string) => line.replace(name, digests.get(name) ?? name));
