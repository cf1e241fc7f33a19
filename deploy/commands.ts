import { join } from "node:path";
import { command } from "../shared/process/command-line.ts";
import { VARIABLES } from "../shared/process/variables.ts";

/** `npm run migrate`. */
export const MIGRATE = command({
  name: "migrate",
  about:
    "Makes the collections and indexes that this version needs in the database of MONGODB_URI. It may run while services are at work, and again at any time.",
  options: {
    "delete-number": {
      kind: "text",
      value: "id",
      many: true,
      about: "deletes one of several numbers that have the same phone number first; may be given again",
    },
  },
});

/** `npm run restore:park`. */
export const PARK_RESTORED = command({
  name: "restore:park",
  about:
    "Parks every unfinished lead of a database that was restored from a copy, before any process starts: it may have been called since that copy was made. POST /leads/resume lets it be called.",
  options: {},
});

/** `npm run nats:users`. */
export const NATS_USERS = command({
  name: "nats:users",
  about: "Makes the NATS users of the services and of readers of events, one key pair each. What is there stays.",
  options: {
    reader: {
      kind: "text",
      value: "name",
      many: true,
      about: "makes a user that reads events of EVENTS_READERS too (docs/events.md); may be given again",
    },
    secrets: {
      kind: "text",
      value: "folder",
      default: join(import.meta.dirname, "nats", "users"),
      about: "folder for the key pairs and what the NATS server reads",
    },
    namespace: { kind: "text", value: "name", default: VARIABLES.NAMESPACE.default, about: "the bus's namespace" },
  },
});

/** `npm run compose:secrets`. */
export const COMPOSE_SECRETS = command({
  name: "compose:secrets",
  about:
    "Makes what docker-compose.yml gives to containers as files: keys and passwords, the keys of the bus, and a file for each secret of yours. What is there stays.",
  options: {
    env: {
      kind: "text",
      value: "file",
      default: ".env",
      about:
        "the environment of Compose: its secrets go to their files; SECRETS_FOLDER and NATS_USERS name the folders",
    },
  },
});

/** `npm run sdk:types`. */
export const SDK_TYPES = command({
  name: "sdk:types",
  about:
    "Writes deploy/client/api.ts, the table of roles in docs/api.md and docs/asyncapi.yaml from the table of routes and the contracts.",
  options: { check: { kind: "flag", about: "writes nothing; status 1 where a file is not as it would be written" } },
});

/** `npm run client:pack`. */
export const CLIENT_PACK = command({
  name: "client:pack",
  about: "Builds the npm package @callagent/client, with the command line callagent, and prints its file.",
  options: { out: { kind: "text", value: "folder", default: ".", about: "where the package goes" } },
});

/** `npm run client:collection`. */
export const CLIENT_COLLECTION = command({
  name: "client:collection",
  about: "Writes every request of the API, with its example, as a collection that Postman and Bruno import.",
  options: {
    out: {
      kind: "text",
      value: "file",
      default: "callagent.postman_collection.json",
      about: "where the collection goes",
    },
  },
});

/** `npm run supply:check`. */
export const SUPPLY_CHECK = command({
  name: "supply:check",
  about: "Checks that what an installation brings in is what was looked at, and that no secret lies in the tree.",
  options: {},
});

/** `npm run supply:hashes`. */
export const SUPPLY_HASHES = command({
  name: "supply:hashes",
  about: "Gives every package of package-lock.json that lacks one the hash that the npm registry publishes.",
  options: {},
});

/** `npm run supply:sbom`. */
export const SUPPLY_SBOM = command({
  name: "supply:sbom",
  about: "Prints the bill of materials of what runs in production, in CycloneDX 1.5 (JSON).",
  options: {},
});

/** `npm run supply:pin`. */
export const SUPPLY_PIN = command({
  name: "supply:pin",
  about: "Writes the digest of every image that docker-compose.yml and the Dockerfile name beside its tag.",
  options: {
    registry: { kind: "text", value: "url", about: "asks a mirror in place of each image's own registry" },
  },
});
