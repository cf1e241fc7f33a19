import { contracts, type Contracts, type ServiceName } from "../contracts/index.ts";
import { isServiceName } from "../process/node-id.ts";

type Callers = {
  readonly [S in ServiceName]: { readonly [A in keyof Contracts[S]["actions"]]: readonly ServiceName[] };
};
type Listeners = {
  readonly [S in ServiceName]: { readonly [E in keyof Contracts[S]["events"]]: readonly ServiceName[] };
};

/**
 * Who may call what: of each action of each contract, the services that ask for it. An action that nobody asks for any more is kept for neighbours of
 * the version before, who share a bus without signatures only.
 */
const CALLERS: Callers = {
  auth: {
    login: ["gateway"],
    logOut: ["gateway"],
    changePassword: ["gateway"],
    issueS2s: ["gateway"],
    listS2s: ["gateway"],
    revokeS2s: ["gateway"],
    createUser: ["gateway"],
    listUsers: ["gateway"],
    getUser: ["gateway"],
    updateUser: ["gateway"],
    deleteUser: ["gateway"],
    identify: ["gateway"],
    record: ["blacklist", "config", "leads", "merchants", "numbers", "webhook"],
    recordRun: ["leads"],
    listAudit: ["gateway"],
  },
  blacklist: {
    add: ["gateway"],
    list: ["gateway"],
    remove: ["gateway"],
    check: ["dialer", "leads", "scheduler"],
    recordWish: ["leads"],
    eraseNumber: ["leads"],
    archiveFolders: ["leads"],
  },
  config: {
    createTemplate: ["gateway"],
    listTemplates: ["gateway"],
    getTemplate: ["gateway"],
    updateTemplate: ["gateway"],
    deleteTemplate: ["gateway"],
    listVersions: ["gateway"],
    createConfiguration: ["gateway"],
    listConfigurations: ["gateway", "leads"],
    getConfiguration: ["gateway"],
    updateConfiguration: ["gateway"],
    deleteConfiguration: ["gateway"],
    createDoor: ["gateway"],
    listDoors: ["gateway"],
    deleteDoor: ["gateway"],
    doorByKey: ["gateway"],
    resolveDoor: ["leads"],
    countDoor: ["leads"],
    resolveForPush: [],
    resolveManyForPush: ["leads"],
    plans: ["scheduler"],
    overridden: ["scheduler"],
    templateVersion: ["conversation"],
    inboundFor: ["dialer"],
    mayTakeCalls: ["numbers"],
    owns: ["merchants"],
    putSecret: ["gateway"],
    listSecrets: ["gateway"],
    deleteSecret: ["gateway"],
    dropSecrets: ["merchants"],
    secretValues: ["conversation", "dialer"],
  },
  conversation: {
    prepareMany: ["dialer"],
    reissue: ["dialer"],
    speak: ["dialer"],
    stop: ["dialer"],
    alive: ["dialer"],
    salvage: ["dialer"],
    turn: ["dialer"],
    eraseNumber: ["leads"],
    endRecords: ["leads"],
  },
  dialer: {
    dialMany: ["scheduler"],
    carrierEvent: ["gateway"],
    farewells: ["gateway"],
    inboundCalls: ["gateway"],
    holdsNumber: ["numbers"],
    verifyUpgrade: ["conversation"],
    joined: ["conversation"],
    hangUp: ["conversation", "leads"],
    transfer: ["conversation"],
    sendDtmf: ["conversation"],
    askAgain: ["conversation"],
    recorded: ["conversation"],
    recordedInCloud: ["conversation"],
    calleeCalls: ["scheduler"],
    spendRoom: ["scheduler"],
    openSession: ["leads"],
    rejoinSession: ["leads"],
    speak: ["leads"],
    reconcile: ["leads"],
    recordingOf: ["leads"],
    history: ["leads"],
    eraseNumber: ["leads"],
    endRecords: ["leads"],
    archive: ["leads", "webhook"],
  },
  gateway: {},
  leads: {
    push: ["gateway"],
    pushMany: ["gateway"],
    list: ["gateway"],
    get: ["gateway"],
    byRequest: ["gateway"],
    timeline: ["gateway"],
    explain: ["gateway"],
    recording: ["gateway"],
    summary: ["gateway"],
    abort: ["gateway"],
    resume: ["gateway"],
    requeue: ["scheduler"],
    parked: ["gateway"],
    join: ["gateway"],
    joinLink: ["gateway"],
    lookAtLink: ["gateway"],
    joinByLink: ["gateway"],
    recordingByLink: ["gateway"],
    callByDoor: ["gateway"],
    speak: ["gateway"],
    heads: ["scheduler"],
    dueOf: ["scheduler"],
    overrideOf: ["scheduler"],
    inFlight: ["scheduler"],
    claimMany: ["scheduler"],
    drop: ["scheduler"],
    aging: ["scheduler"],
    expire: ["scheduler"],
    receive: ["dialer"],
    reachable: ["dialer", "gateway"],
    extend: ["conversation", "dialer"],
    release: ["dialer", "scheduler"],
    settle: ["conversation", "dialer"],
    annotate: ["conversation", "dialer"],
    unfinished: ["config", "merchants"],
    events: ["gateway"],
    listEvents: ["gateway"],
    eventsAfter: ["webhook"],
    takeEvents: ["config", "merchants", "numbers"],
    createErasure: ["gateway"],
    getErasure: ["gateway"],
    listErasures: ["gateway"],
    getRetention: ["gateway"],
    setRetention: ["gateway"],
    dryRunRetention: ["gateway"],
    putLegalHold: ["gateway"],
    liftLegalHold: ["gateway"],
    getLegalHold: ["gateway"],
    listLegalHolds: ["gateway"],
  },
  merchants: {
    createReseller: ["gateway"],
    listResellers: ["gateway"],
    getReseller: ["gateway"],
    updateReseller: ["gateway"],
    deleteReseller: ["gateway"],
    create: ["gateway"],
    list: ["gateway"],
    get: ["gateway"],
    update: ["gateway"],
    remove: ["gateway"],
    pause: ["gateway"],
    resume: ["gateway"],
    deployment: ["gateway"],
    pauseDeployment: ["gateway"],
    resumeDeployment: ["gateway"],
    pauses: ["dialer", "scheduler"],
    testNumbers: ["config"],
    active: ["auth", "config"],
    named: ["leads"],
    lookup: ["auth", "blacklist", "config", "gateway", "leads", "numbers", "webhook"],
  },
  numbers: {
    create: ["gateway"],
    list: ["gateway"],
    get: ["gateway"],
    update: ["gateway"],
    remove: ["gateway"],
    availability: ["scheduler"],
    reserveMany: ["scheduler"],
    releaseMany: ["dialer", "scheduler"],
    keepMany: ["dialer"],
    called: ["dialer"],
  },
  scheduler: {
    grant: ["dialer"],
    giveBack: ["dialer"],
    slow: ["dialer"],
    explain: ["leads"],
    admitSession: ["leads"],
  },
  webhook: {
    list: ["gateway"],
    replay: ["gateway"],
    secret: ["gateway"],
    rotateSecret: ["gateway"],
    createEndpoint: ["gateway"],
    listEndpoints: ["gateway"],
    getEndpoint: ["gateway"],
    updateEndpoint: ["gateway"],
    deleteEndpoint: ["gateway"],
    rotateEndpointSecret: ["gateway"],
    testEndpoint: ["gateway"],
    endpointDeliveries: ["gateway"],
    replayEndpointDelivery: ["gateway"],
    dropEndpoints: ["merchants"],
    checkAddress: [],
    checkAddresses: ["config", "leads"],
    enqueueMany: ["leads"],
    deliveries: ["gateway", "leads"],
    eraseNumber: ["leads"],
    endRecords: ["leads"],
  },
};

/** Who hears what: of each event of each contract, the services that listen to it. */
const LISTENERS: Listeners = {
  auth: {},
  blacklist: {},
  config: { "config.changed": ["config", "scheduler"] },
  conversation: {},
  dialer: { "call.ended": ["conversation"] },
  gateway: {
    "database.command_refused": ["gateway"],
    "allowance.spent": ["gateway"],
    "room.changed": ["conversation"],
  },
  leads: {
    "lead.queued": ["scheduler"],
    "lead.finished": [],
    "events.owed": ["leads"],
    "events.published": ["gateway", "leads", "webhook"],
  },
  merchants: { "calling.switched": ["scheduler"] },
  numbers: { "numbers.freed": ["scheduler"] },
  scheduler: {},
  webhook: {},
};

/** Every service. */
export const SERVICE_NAMES: readonly ServiceName[] = Object.keys(contracts).filter(isServiceName);

/** The event that comes from every service with a database, though the gateway's contract has it; the gateway is the one without. */
const FROM_ALL_OTHERS = "database.command_refused";

const callers = new Map<string, readonly ServiceName[]>();
const listeners = new Map<string, readonly ServiceName[]>();
const emitters = new Map<string, readonly ServiceName[]>();
for (const service of SERVICE_NAMES) {
  for (const [action, who] of Object.entries<readonly ServiceName[]>(CALLERS[service]))
    callers.set(`${service}.${action}`, who);
  for (const [event, who] of Object.entries<readonly ServiceName[]>(LISTENERS[service])) {
    listeners.set(event, who);
    emitters.set(event, event === FROM_ALL_OTHERS ? SERVICE_NAMES.filter((name) => name !== service) : [service]);
  }
}

/** The service of an action. */
const ownerOf = (action: string): string => action.slice(0, action.indexOf("."));
const unique = (names: readonly ServiceName[]): ServiceName[] => [...new Set(names)].sort();

/** Every action there is, `leads.push`. */
export const ACTIONS: readonly string[] = [...callers.keys()];
/** Every event there is. */
export const EVENTS: readonly string[] = [...listeners.keys()];

/** True where this service may call the action. */
export const mayCall = (caller: ServiceName, action: string): boolean => callers.get(action)?.includes(caller) === true;

/** True where this service may emit the event. */
export const mayEmit = (caller: ServiceName, event: string): boolean => emitters.get(event)?.includes(caller) === true;

/** True where this service listens to the event. */
export const hears = (service: ServiceName, event: string): boolean => listeners.get(event)?.includes(service) === true;

/** The services that this one calls. */
export const calleesOf = (caller: ServiceName): ServiceName[] =>
  SERVICE_NAMES.filter((s) => ACTIONS.some((action) => ownerOf(action) === s && mayCall(caller, action)));

/** The services that call this one. */
export const callersOf = (service: ServiceName): ServiceName[] =>
  unique(ACTIONS.filter((action) => ownerOf(action) === service).flatMap((action) => callers.get(action) ?? []));

/** The services that events of this one go to. */
export const listenersOf = (emitter: ServiceName): ServiceName[] =>
  unique(EVENTS.filter((event) => mayEmit(emitter, event)).flatMap((event) => listeners.get(event) ?? []));
