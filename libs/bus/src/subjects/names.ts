import type { EventKind } from '@brine/job';
import { escapeToken } from './escape.ts';

/** The root of every subject of ours. */
export const SUBJECT_ROOT = 'brine';

/**
 * The streams by their content. `keptBodies` has large events and jobs for as long as those live;
 * `reactions` and `due` are queues of work: a message goes when it is acknowledged.
 */
export const STREAMS = {
  events: 'EVENTS',
  publications: 'PUBLICATIONS',
  reactions: 'REACTIONS',
  due: 'DUE',
  bodies: 'brine_bodies',
  keptBodies: 'brine_kept_bodies',
} as const;

/** One of the streams' names. */
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
  'brine_once',
  'brine_runs',
  'brine_reactor',
  'brine_event_return',
  'brine_presence',
] as const;

/** One of the buckets' names. */
export type BucketName = (typeof BUCKETS)[number];

/** The kinds of publications; the last token of their subject. */
export const PUBLICATION_KINDS = ['job', 'again', 'marker'] as const;

/** A kind of publication. */
export type PublicationKind = (typeof PUBLICATION_KINDS)[number];

/** Tells whether a text names a kind of publication. */
export function isPublicationKind(text: string): text is PublicationKind {
  return (PUBLICATION_KINDS as readonly string[]).includes(text);
}

/**
 * Why there is work in a queue. `event`: an entry of `reactor:` fits an event. `due`: a job of the
 * master's schedule is due.
 */
export const REACTION_KINDS = ['event', 'due'] as const;

/** A kind of work in the queue of reactions. */
export type ReactionKind = (typeof REACTION_KINDS)[number];

/** Tells whether a text names a kind of reaction. */
export function isReactionKind(text: string): text is ReactionKind {
  return (REACTION_KINDS as readonly string[]).includes(text);
}

/**
 * What is said of connected minions, as the last token of its subject. `told`: publishers to the
 * owner; `heard`: workers to the owner; `hello`: the owner to publishers; `ask`: questions to the
 * owner.
 */
export type PresenceSubject = 'told' | 'heard' | 'hello' | 'ask';

/** The queues of requests: log-ins, clear commands, and everything under a session key. */
export const REQUEST_CLASSES = ['auth', 'clear', 'aes'] as const;

/** A queue of requests. */
export type RequestClass = (typeof REQUEST_CLASSES)[number];

/** Services that have a NATS user of their own, each with the inbox it alone may listen on. */
export const SERVICE_INBOXES = {
  'req-gateway': '_INBOX.gw',
  'worker-pool': '_INBOX.wk',
  'runner-pool': '_INBOX.run',
  publisher: '_INBOX.pub',
  'event-bus': '_INBOX.evb',
  'job-cache-returner': '_INBOX.jcr',
  'syndic-relay': '_INBOX.syn',
  admin: '_INBOX.adm',
} as const;

/** A service with a NATS user. */
export type ServiceName = keyof typeof SERVICE_INBOXES;

/** All services with a NATS user. */
export const SERVICE_NAMES = Object.keys(SERVICE_INBOXES) as readonly ServiceName[];

/**
 * Below this a service awaits what other services answer. They may publish here, and nowhere that
 * the server answers: else the one that answers about history could also answer which key a minion
 * has.
 */
export function answerInbox(service: ServiceName): string {
  return `${SERVICE_INBOXES[service]}.q`;
}

/** A NATS server, as its certificate names it to other servers. No user is called so. */
export const SERVER_NAME = 'nats';

/**
 * Replies to requests go below this inbox and nowhere else: a reply subject named by a sender is
 * otherwise a way to write an event without the right to.
 */
export const REPLY_INBOX = SERVICE_INBOXES['req-gateway'];

/**
 * Here a service in an account without streams has its consumers made, as
 * `<root>.<service>.<stream>.<consumer>`: its own request to JetStream is led here.
 */
export const CONSUMERS_ROOT = `${SUBJECT_ROOT}.consumers`;

/** The server's interface to streams. */
export const STREAMS_API = '$JS.API.';

/**
 * What it is called in accounts without streams. There the server itself answers on
 * {@link STREAMS_API} that there are none, so it turns each such subject into one of these.
 */
export const STREAMS_API_APART = `${SUBJECT_ROOT}.api.`;

/** The subjects of ours, by what they are for. */
export const subjects = {
  event: (kind: EventKind) => `${SUBJECT_ROOT}.events.${kind}`,
  publication: (kind: PublicationKind) => `${SUBJECT_ROOT}.publications.${kind}`,
  /** What the master itself asks for. */
  reaction: (kind: ReactionKind) => `${SUBJECT_ROOT}.reactions.${kind}`,
  /** What another chose to have stored; what waits of one source is counted by its subjects. */
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
  /** A publisher says when a job went out; workers hear it. */
  sent: `${SUBJECT_ROOT}.sent`,
  /** The store says which events PostgreSQL has committed; workers hear it. */
  committed: `${SUBJECT_ROOT}.committed`,
  /** What all workers hear. */
  word: `${SUBJECT_ROOT}.word`,
  /** What is said of connected minions; see broadcasts/presence-reports.ts. */
  presence: (what: PresenceSubject) => `${SUBJECT_ROOT}.presence.${what}`,
  /** All services hear it, and tell of themselves. */
  roll: `${SUBJECT_ROOT}.roll`,
  /** What a service tells then; each may tell on its own subject alone. */
  told: (service: ServiceName | '') => `${SUBJECT_ROOT}.told.${service}`,
  grant: (workerId: string) => `${SUBJECT_ROOT}.grant.${workerId}`,
} as const;

/** What may stand as one token of a subject of ours: ids of workers, gateways, consumers. */
export function isToken(text: string): boolean {
  return /^[A-Za-z0-9_-]{1,128}$/.test(text);
}
