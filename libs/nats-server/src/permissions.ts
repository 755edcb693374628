import type { BucketName, ServiceName } from '@brine/bus';
import { BUCKETS, STREAMS } from '@brine/bus';
import { answerInbox, CONSUMERS_ROOT, SERVICE_INBOXES } from '@brine/bus/apart';

/** The rights of a user of the NATS server. */
export interface Permissions {
  /** Its own account, without streams; default the account of the streams. */
  readonly account?: string;
  readonly publish: readonly string[];
  /** Exceptions from `publish`. */
  readonly publishNever?: readonly string[];
  readonly subscribe: readonly string[];
}

const { events, publications, reactions, due, bodies, keptBodies } = STREAMS;

const readBodies = (...spaces: readonly string[]): readonly string[] =>
  spaces.map((space) => `$JS.API.DIRECT.GET.${bodies}.brine.bodies.${space}.>`);

const readKept = (...spaces: readonly string[]): readonly string[] =>
  spaces.map((space) => `$JS.API.DIRECT.GET.${keptBodies}.brine.kept.${space}.>`);

const consume = (stream: string): readonly string[] => [
  `$JS.API.STREAM.INFO.${stream}`,
  `$JS.API.CONSUMER.CREATE.${stream}.*`,
  `$JS.API.CONSUMER.INFO.${stream}.*`,
  `$JS.API.CONSUMER.DELETE.${stream}.*`,
  `$JS.API.CONSUMER.MSG.NEXT.${stream}.*`,
  `$JS.ACK.${stream}.>`,
];

/** The places of durable readers that belong to other services, by their names. */
const notOf = (...readers: readonly string[]): readonly string[] =>
  [events, publications].flatMap((stream) =>
    readers.flatMap((reader) => [
      `$JS.API.CONSUMER.DELETE.${stream}.${reader}`,
      `$JS.API.CONSUMER.MSG.NEXT.${stream}.${reader}`,
      `$JS.ACK.${stream}.${reader}.>`,
    ]),
  );

const readBucket = (bucket: BucketName): readonly string[] => [
  ...consume(`KV_${bucket}`),
  `$JS.API.DIRECT.GET.KV_${bucket}.>`,
  `$JS.API.STREAM.MSG.GET.KV_${bucket}`,
];

/** Reads a bucket and follows it, with no way to acknowledge what another reader got. */
const followBucket = (bucket: BucketName): readonly string[] =>
  readBucket(bucket).filter((subject) => !/^\$JS\.(?:ACK|API\.CONSUMER\.INFO)\./.test(subject));

const useBuckets = (...names: readonly BucketName[]): readonly string[] =>
  names.flatMap((bucket) => [...readBucket(bucket), `$KV.${bucket}.>`]);

const ownInbox = (service: ServiceName): string => `${SERVICE_INBOXES[service]}.>`;

/** The inbox for answers of other services; answers of the server go to another inbox. */
const answersTo = (service: ServiceName): string => `${answerInbox(service)}.>`;

/** Each service receives a roll call and answers on its own subject only. */
const reportOf = (service: ServiceName): string => `brine.told.${service}`;
const ROLL = 'brine.roll';

const askQueries = ['brine.jobs.>', 'brine.bodies.qry.>', ...readBodies('qry')];

const sendRequests = [
  'brine.hello',
  'brine.req.>',
  'brine.grant.*',
  'brine.bodies.req.>',
  ...readBodies('rep'),
];

/** Buckets for the services that run cluster tasks. */
const DUTY_BUCKETS: ReadonlySet<BucketName> = new Set(['brine_reactor', 'brine_presence']);

/** Buckets of services with the key of the master: only the HTTP API reads its sessions. */
const MASTER_BUCKETS = BUCKETS.filter((name) => name !== 'brine_http_sessions');

/** The subjects that a service publishes to answer requests of gateways or its own. */
const withMaster = (service: ServiceName): readonly string[] => [
  ownInbox('worker-pool'),
  ownInbox('runner-pool'),
  'brine.epochs',
  'brine.word',
  // which minions proved themselves, and which are connected
  'brine.presence.heard',
  'brine.presence.ask',
  // whether a call of a function may begin
  'brine.functions.admits',
  // which runs have not ended
  'brine.functions.runs',
  // which functions there are
  'brine.functions.known',
  'brine.events.*',
  'brine.publications.*',
  'brine.kept.>',
  ...readKept('evt', 'pub'),
  `$JS.API.DIRECT.GET.${events}`,
  `$JS.API.DIRECT.GET.${publications}`,
  ...consume(events),
  ...consume(publications),
  ...askQueries,
  // whether a host has the files of a job
  'brine.files.*',
  // a roll call, for a command
  ROLL,
  reportOf(service),
];

/** The subjects that it subscribes to. */
const subscribeAsMaster = (service: ServiceName): readonly string[] => [
  ownInbox(service),
  'brine.epochs',
  'brine.word',
  'brine.sent',
  'brine.committed',
  'brine.functions.done.*',
  ROLL,
  'brine.told.*',
];

/**
 * The rights of each service to publish and subscribe. A gateway can reach workers only, and
 * workers answer at gateways' inboxes only. Only the owner of the streams may change them. A
 * service without the master's key and with other peers than minions has its own account.
 */
export const PERMISSIONS: Readonly<Record<ServiceName, Permissions>> = {
  'req-gateway': {
    account: 'GATEWAYS',
    publish: [...sendRequests, 'brine.requests.*', 'brine.delay', reportOf('req-gateway')],
    subscribe: [ownInbox('req-gateway'), 'brine.workers.*', ROLL],
  },
  'worker-pool': {
    publish: [
      ...withMaster('worker-pool'),
      ownInbox('req-gateway'),
      'brine.workers.*',
      'brine.bodies.rep.>',
      ...readBodies('req'),
      ...useBuckets(...MASTER_BUCKETS.filter((name) => !DUTY_BUCKETS.has(name))),
      // for pillars
      'brine.python.call',
    ],
    subscribe: [
      ...subscribeAsMaster('worker-pool'),
      'brine.hello',
      'brine.req.*.*',
      'brine.grant.*',
      'brine.requests.*',
    ],
  },
  'runner-pool': {
    publish: [
      ...withMaster('runner-pool'),
      // the outcomes of calls, for processes that wait for them
      'brine.functions.done.*',
      // of the owner of presence, to publishers
      'brine.presence.hello',
      'brine.reactions.>',
      'brine.due.*',
      ...consume(reactions),
      ...consume(due),
      ...useBuckets(...MASTER_BUCKETS),
    ],
    subscribe: [
      ...subscribeAsMaster('runner-pool'),
      'brine.functions.admits',
      'brine.functions.runs',
      'brine.functions.known',
      'brine.python.call',
      'brine.delay',
      'brine.presence.told',
      'brine.presence.heard',
      'brine.presence.ask',
    ],
  },
  publisher: {
    publish: [
      'brine.epochs',
      'brine.sent',
      'brine.presence.told',
      'brine.events.sighting',
      // of all jobs only the find_job before a durable job
      'brine.publications.*',
      'brine.kept.pub.>',
      ...readKept('pub', 'evt'),
      `$JS.API.DIRECT.GET.${publications}`,
      ...consume(publications),
      ...consume(events),
      ...readBucket('brine_secrets'),
      // AES keys and serials, but not keys of syndics or users
      ...['aes.*', 'aes-current', 'serial.*'].map((key) => `$KV.brine_secrets.${key}`),
      ...askQueries,
      reportOf('publisher'),
    ],
    subscribe: [ownInbox('publisher'), 'brine.epochs', 'brine.presence.hello', ROLL],
  },
  'event-bus': {
    publish: [
      '$JS.API.>',
      '$JS.ACK.>',
      'brine.events.*',
      'brine.publications.*',
      'brine.kept.>',
      ...BUCKETS.map((bucket) => `$KV.${bucket}.>`),
      'brine.epochs',
      ...askQueries,
      // "written", to the services that publish and wait for it
      ownInbox('worker-pool'),
      ownInbox('runner-pool'),
      reportOf('event-bus'),
      // answers about consumers, to other accounts
      '_R_.>',
    ],
    subscribe: [
      ownInbox('event-bus'),
      'brine.epochs',
      'brine.files.*',
      `${CONSUMERS_ROOT}.*.*.*`,
      ROLL,
    ],
  },
  'job-cache-returner': {
    account: 'RETURNERS',
    publishNever: notOf('reactor'),
    publish: [
      ...consume(events),
      ...consume(publications),
      ...readKept('evt', 'pub'),
      `$JS.API.DIRECT.GET.${events}`,
      `$JS.API.DIRECT.GET.${publications}`,
      'brine.committed',
      // the returners, and how far each has come
      ...useBuckets('brine_event_return'),
      'brine.bodies.qry.>',
      ...readBodies('qry'),
      answersTo('worker-pool'),
      answersTo('runner-pool'),
      answersTo('publisher'),
      answersTo('event-bus'),
      answersTo('syndic-relay'),
      answersTo('admin'),
      reportOf('job-cache-returner'),
    ],
    subscribe: [ownInbox('job-cache-returner'), 'brine.jobs.>', ROLL],
  },
  'syndic-relay': {
    account: 'RELAYS',
    publishNever: notOf('store', 'reactor'),
    publish: [
      'brine.events.syndic',
      'brine.kept.evt.>',
      ...readKept('evt', 'pub'),
      ...sendRequests,
      ...consume(events),
      ...consume(publications),
      ...askQueries,
      reportOf('syndic-relay'),
    ],
    // It sends requests as a gateway does, and so needs a gateway's inbox.
    subscribe: [ownInbox('syndic-relay'), ownInbox('req-gateway'), 'brine.workers.*', ROLL],
  },
  'http-api': {
    account: 'HTTP',
    publishNever: notOf('store', 'reactor'),
    publish: [
      ...sendRequests,
      ...readKept('evt', 'pub'),
      `$JS.API.DIRECT.GET.${events}`,
      `$JS.API.DIRECT.GET.${publications}`,
      ...consume(events),
      ...consume(publications),
      ...useBuckets('brine_http_sessions'),
      // the fleet: states of keys, grains, and who is connected; pillars and mines are not its own
      ...followBucket('brine_keys'),
      ...followBucket('brine_minions'),
      ...followBucket('brine_presence'),
      'brine.events.hook',
      'brine.kept.evt.>',
      reportOf('http-api'),
    ],
    // It sends requests as a gateway does, and so needs a gateway's inbox.
    subscribe: [ownInbox('http-api'), ownInbox('req-gateway'), 'brine.workers.*', ROLL],
  },
  admin: { publish: ['>'], subscribe: ['>'] },
};
