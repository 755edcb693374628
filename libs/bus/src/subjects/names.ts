import type { EventKind } from '@brine/job';
import { escapeToken } from './escape.ts';

/** The root of all our subjects. */
export const SUBJECT_ROOT = 'brine';

/**
 * The streams by their content. `keptBodies` has large events and jobs for as long as those live;
 * `reactions` and `due` are queues of work: a message is removed when it is acknowledged.
 */
export const STREAMS = {
  events: 'EVENTS',
  publications: 'PUBLICATIONS',
  reactions: 'REACTIONS',
  due: 'DUE',
  bodies: 'brine_bodies',
  keptBodies: 'brine_kept_bodies',
} as const;

/** The name of a stream. */
export type StreamName = (typeof STREAMS)[keyof typeof STREAMS];

/** The buckets of hot state; each is a JetStream KV bucket. */
export const BUCKETS = [
  'brine_keys',
  'brine_sessions',
  'brine_secrets',
  'brine_minions',
  'brine_mine',
  'brine_pillars',
  'brine_requests',
  'brine_tokens',
  'brine_codes',
  'brine_once',
  'brine_runs',
  'brine_reactor',
  'brine_event_return',
  'brine_presence',
  'brine_http_sessions',
  'brine_commands',
] as const;

/** The name of a bucket. */
export type BucketName = (typeof BUCKETS)[number];

/** The kinds of publications; the last token of their subject. */
export const PUBLICATION_KINDS = ['job', 'again', 'marker'] as const;

/** A kind of publication. */
export type PublicationKind = (typeof PUBLICATION_KINDS)[number];

/** True if a text names a kind of publication. */
export function isPublicationKind(text: string): text is PublicationKind {
  return (PUBLICATION_KINDS as readonly string[]).includes(text);
}

/**
 * The cause of work in a queue. `event`: an entry of `reactor:` fits an event. `due`: a job of the
 * master's schedule is due.
 */
export const REACTION_KINDS = ['event', 'due'] as const;

/** A kind of work in the queue of reactions. */
export type ReactionKind = (typeof REACTION_KINDS)[number];

/** True if a text names a kind of reaction. */
export function isReactionKind(text: string): text is ReactionKind {
  return (REACTION_KINDS as readonly string[]).includes(text);
}

/**
 * The last token of a subject for reports about connected minions. `told`: publishers to the owner;
 * `heard`: workers to the owner; `hello`: the owner to publishers; `ask`: questions to the owner.
 */
export type PresenceSubject = 'told' | 'heard' | 'hello' | 'ask';

/** The queues of requests: log-ins, clear commands, and everything under a session key. */
export const REQUEST_CLASSES = ['auth', 'clear', 'aes'] as const;

/** A queue of requests. */
export type RequestClass = (typeof REQUEST_CLASSES)[number];

/** Services that have a NATS user of their own, each with the inbox on which only it may listen. */
export const SERVICE_INBOXES = {
  'req-gateway': '_INBOX.gw',
  'worker-pool': '_INBOX.wk',
  'runner-pool': '_INBOX.run',
  publisher: '_INBOX.pub',
  'event-bus': '_INBOX.evb',
  'job-cache-returner': '_INBOX.jcr',
  'syndic-relay': '_INBOX.syn',
  'http-api': '_INBOX.api',
  admin: '_INBOX.adm',
} as const;

/** A service with a NATS user. */
export type ServiceName = keyof typeof SERVICE_INBOXES;

/** All services with a NATS user. */
export const SERVICE_NAMES = Object.keys(SERVICE_INBOXES) as readonly ServiceName[];

/**
 * Below this subject a service awaits answers of other services. They may publish here, and nowhere
 * that the server answers. Otherwise the service that answers about history could also answer which
 * key a minion has.
 */
export function answerInbox(service: ServiceName): string {
  return `${SERVICE_INBOXES[service]}.q`;
}

/** A NATS server, as its certificate names it to other servers. No user has this name. */
export const SERVER_NAME = 'nats';

/**
 * Replies to requests go below this inbox and nowhere else. Otherwise a sender could name a reply
 * subject that writes an event, without the right to.
 */
export const REPLY_INBOX = SERVICE_INBOXES['req-gateway'];

/**
 * Here a service in an account without streams has its consumers made, as
 * `<root>.<service>.<stream>.<consumer>`: its own request to JetStream is mapped to this.
 */
export const CONSUMERS_ROOT = `${SUBJECT_ROOT}.consumers`;

/** The server's interface to streams. */
export const STREAMS_API = '$JS.API.';

/**
 * The name of {@link STREAMS_API} in accounts without streams. There the server itself would answer
 * that there are no streams, so it maps each such subject to one of these.
 */
export const STREAMS_API_APART = `${SUBJECT_ROOT}.api.`;

/** The subjects, by purpose. */
export const subjects = {
  event: (kind: EventKind) => `${SUBJECT_ROOT}.events.${kind}`,
  publication: (kind: PublicationKind) => `${SUBJECT_ROOT}.publications.${kind}`,
  /** A reaction that the master itself asks for. */
  reaction: (kind: ReactionKind) => `${SUBJECT_ROOT}.reactions.${kind}`,
  /** A reaction that a source causes; the subjects of one source are counted against its share. */
  reactionOf: (source: string, kib: number | '>') =>
    `${SUBJECT_ROOT}.reactions.event.${escapeToken(source)}.${kib}`,
  /** A job of the schedule is due. */
  due: `${SUBJECT_ROOT}.due.job`,
  request: (cls: RequestClass, workerId: string) => `${SUBJECT_ROOT}.req.${cls}.${workerId}`,
  worker: (workerId: string) => `${SUBJECT_ROOT}.workers.${workerId}`,
  /** Senders of requests ask here for workers, which answer with an announcement at once. */
  hello: `${SUBJECT_ROOT}.hello`,
  /** A gateway announces how long requests take; the reactor follows it. */
  delay: `${SUBJECT_ROOT}.delay`,
  /** A publisher reports when a job went out; workers receive it. */
  sent: `${SUBJECT_ROOT}.sent`,
  /** The store reports which events PostgreSQL has committed; workers receive it. */
  committed: `${SUBJECT_ROOT}.committed`,
  /** Broadcasts to all workers. */
  word: `${SUBJECT_ROOT}.word`,
  /** Reports about connected minions; see broadcasts/presence-reports.ts. */
  presence: (what: PresenceSubject) => `${SUBJECT_ROOT}.presence.${what}`,
  /** All services receive a roll call, and answer with their state. */
  roll: `${SUBJECT_ROOT}.roll`,
  /** The answer of a service; each may publish on its own subject only. */
  told: (service: ServiceName | '') => `${SUBJECT_ROOT}.told.${service}`,
  grant: (workerId: string) => `${SUBJECT_ROOT}.grant.${workerId}`,
} as const;

/** True for a valid token of a subject: ids of workers, gateways, consumers. */
export function isToken(text: string): boolean {
  return /^[A-Za-z0-9_-]{1,128}$/.test(text);
}
