import { mapOf, pack } from '@brine/wire';

/** Six kinds of users, with their rights in `external_auth`. */
export const RIGHTS_USERS = {
  all: ['.*', '@runner', '@wheel', '@jobs'],
  /** Narrow by minion. */
  webs: [{ 'web*': ['.*'] }],
  /** Narrow by function: it reaches each minion, and may read nothing of it. */
  asker: [{ '*': ['test.version'] }],
  lister: [{ '@runner': ['jobs.list_job'] }, { '@wheel': ['key.list_all'] }],
  site: ['@events'],
  nothing: [],
} as const;
export type RightsUser = keyof typeof RIGHTS_USERS;

/** A minion with its job, events and keys, of which most users may not learn. */
export interface Secret {
  readonly id: string;
  /** A job on it; before there is one, a jid of none. */
  readonly jid: string;
  /** An event about it; before there is one, a position of none. */
  readonly position: string;
}

/** What an operation needs, and how it is asked about a {@link Secret}. */
export interface RightsRow {
  /** The right, in words. */
  readonly needs: string;
  /** The users whose answer differs once the secret is there. No other answer may. */
  readonly seenBy: readonly RightsUser[];
  /** Users with the right to it, whose answer may be another each time. */
  readonly varies?: readonly RightsUser[];
  readonly query?: (secret: Secret) => string;
  readonly body?: (secret: Secret) => unknown;
  /** The users that may do it at all; the others are answered 403. */
  readonly allows?: readonly RightsUser[];
  /** It asks for no log-in: the answer is the same for all. */
  readonly isOpen?: true;
  /** Parameters of the path beside `id`, `jid` and `position`. */
  readonly params?: Readonly<Record<string, string>>;
}

/** Of keys of the wheel `key.list_all`, and of jobs of the runner `jobs.list_job`. */
const LISTERS = ['all', 'lister'] as const;
/**
 * Who may run the function on the minion; and who may run it elsewhere alone. For these a target
 * without a minion has another refusal than one beyond them, as at port 4506 and on a stock master.
 */
const RUNNERS = ['all', 'webs'] as const;
/** Who reaches the minion, or sees its key. */
const REACH = ['all', 'asker', 'lister'] as const;

const own = (needs: string): RightsRow => ({ needs, seenBy: [] });
/** A function of the master, without a word about minions. */
const ofMaster = (fun: string): RightsRow => ({ needs: fun, seenBy: [], allows: ['all'] });
const ofJob: RightsRow = {
  needs: 'the own job, jobs.list_job, or the function on the minion',
  seenBy: LISTERS,
};

/** A part of a minion: who sees the minion has `forbidden` where it was `not-found`. */
function ofMinionPart(part: string, fun: string): Readonly<Record<string, RightsRow>> {
  return { [`GET /v1/minions/{id}/${part}`]: { needs: `${fun} on the minion`, seenBy: REACH } };
}

function ofRefresh(part: string, fun: string): Readonly<Record<string, RightsRow>> {
  const needs = `to see the minion, and ${fun} on it`;
  return { [`POST /v1/minions/{id}/${part}/refresh`]: { needs, seenBy: REACH } };
}

/**
 * Each operation of `/v1`. A new one is missing here until it has a row: name the right that it
 * needs, and who of the six learns by it of a minion that only `*` reaches.
 */
export const RIGHTS: Readonly<Record<string, RightsRow>> = {
  'POST /v1/session': {
    ...own('a password or a code'),
    isOpen: true,
    body: ({ id }) => ({ username: id, password: 'wrong', eauth: 'sharedsecret' }),
  },
  'GET /v1/session': own('a log-in'),
  'DELETE /v1/session': own('a log-in'),
  'GET /v1/log-ins': { ...own('nothing'), isOpen: true },
  'GET /v1/me': own('a log-in'),
  'POST /v1/targets/resolve': {
    needs: 'the function on the minions',
    seenBy: ['all', 'webs', 'asker'],
    body: ({ id }) => ({ tgt: id, fun: 'test.version' }),
  },
  'GET /v1/events': {
    needs: 'the right to what the event is about',
    seenBy: ['all', 'lister', 'site'],
    query: () => '?from=oldest&limit=500',
  },
  'GET /v1/events/{position}': {
    needs: 'the right to what the event is about',
    seenBy: ['all', 'site'],
    query: () => '?stream=events',
  },
  'GET /v1/minions': {
    needs: 'some right to the minion, or key.list_all',
    seenBy: REACH,
    query: () => '?facets=true&limit=500',
  },
  'GET /v1/minions/{id}': { needs: 'some right to the minion, or key.list_all', seenBy: REACH },
  'GET /v1/minions/{id}/grains': {
    // For others who see the minion the answer is `forbidden` where it was `not-found`.
    needs: 'grains.items on the minion',
    seenBy: REACH,
  },
  ...ofMinionPart('pillar', 'pillar.items'),
  ...ofMinionPart('mine', 'mine.get'),
  ...ofMinionPart('schedule', 'schedule.list'),
  ...ofMinionPart('beacons', 'beacons.list'),
  'GET /v1/minions/{id}/jobs': {
    needs: 'the own job, jobs.list_job, or the function on the minion',
    seenBy: REACH,
  },
  ...ofRefresh('grains', 'saltutil.refresh_grains'),
  ...ofRefresh('pillar', 'saltutil.refresh_pillar'),
  ...ofRefresh('mine', 'mine.update'),
  ...ofRefresh('schedule', 'schedule.list'),
  ...ofRefresh('beacons', 'beacons.list'),
  'GET /v1/overview': {
    needs: 'as /v1/minions and /v1/jobs; services: manage.status',
    seenBy: REACH,
  },
  'GET /v1/services': { ...ofMaster('manage.status'), varies: ['all'] },
  'GET /v1/doctor': { ...ofMaster('all rights'), varies: ['all'] },
  'GET /v1/nodegroups': own('config.values, or a right to that group; counts as /v1/minions'),
  'GET /v1/templates': own('the functions of the template, somewhere'),
  'GET /v1/functions': own('the function, with some arguments'),
  'GET /v1/functions/{kind}/{name}': {
    ...own('the function, with some arguments'),
    params: { kind: 'runner', name: 'jobs.active' },
  },
  'GET /v1/config': ofMaster('config.values'),
  'POST /v1/runs': own('the runner or the wheel'),
  // Each request of a runner is a run itself.
  'GET /v1/runs': { needs: 'the own run, or its function', seenBy: ['all'] },
  'GET /v1/runs/{jid}': own('the own run, or its function'),
  'GET /v1/batches': own('the own batch; batch.list_active, of ended ones batch.status'),
  'GET /v1/batches/{jid}': own('the own batch, or batch.status'),
  'POST /v1/batches/{jid}/pause': own('batch.pause'),
  'POST /v1/batches/{jid}/resume': own('batch.resume'),
  'POST /v1/batches/{jid}/stop': own('batch.stop'),
  // The jid of its run is a new one each time.
  'POST /v1/audit/verify': { ...ofMaster('audit.verify'), seenBy: ['all'] },
  'GET /v1/drift': {
    needs: 'as /v1/minions; runs: the functions of states, or jobs.list_job',
    seenBy: REACH,
    query: () => '?facets=true&limit=500',
  },
  'GET /v1/keys': {
    allows: LISTERS,
    needs: 'key.list_all',
    seenBy: LISTERS,
    query: () => '?limit=500',
  },
  'POST /v1/keys/act': {
    allows: LISTERS,
    needs: 'key.list_all, then the wheel of the act',
    seenBy: LISTERS,
    // Of a key that is there: refused, because the count is another.
    body: ({ id }) => ({ act: 'delete', ids: [id], expect: { count: 0 } }),
  },
  'POST /v1/jobs': {
    needs: 'the function on the minions',
    seenBy: RUNNERS,
    body: ({ id }) => ({ tgt: id, fun: 'test.echo', arg: ['x'] }),
  },
  'GET /v1/jobs': {
    needs: 'the own jobs; jobs.list_job for those of others',
    seenBy: LISTERS,
    query: () => '?limit=500&hidden=true',
  },
  'GET /v1/jobs/{jid}': ofJob,
  'GET /v1/jobs/{jid}/minions': ofJob,
  'GET /v1/jobs/{jid}/groups': ofJob,
  'GET /v1/jobs/{jid}/states': ofJob,
  'GET /v1/jobs/{jid}/timeline': ofJob,
  'GET /v1/jobs/{jid}/why': ofJob,
  'GET /v1/jobs/{jid}/trace': { needs: 'to see the job whole', seenBy: LISTERS },
  'GET /v1/jobs/{jid}/returns/{id}': ofJob,
  'POST /v1/jobs/{jid}/rerun': {
    needs: 'to see the job whole, and the function on the minions',
    seenBy: LISTERS,
    body: () => ({ states: ['returned'] }),
  },
  'POST /v1/jobs/{jid}/signal': {
    needs: 'to see the job whole, and saltutil.kill_job on the minions',
    seenBy: LISTERS,
    body: () => ({ act: 'term' }),
  },
  'GET /v1/reactor': ofMaster('the runner reactor.list'),
  'GET /v1/reactor/failures': ofMaster('the runner reactor.failed'),
  'POST /v1/reactor/act': {
    ...ofMaster('the runners reactor.add and reactor.delete'),
    body: ({ id }) => ({ act: 'delete', event: `none/${id}` }),
  },
  'GET /v1/schedule': ofMaster('the runner schedule.status'),
  'POST /v1/schedule/act': {
    ...ofMaster('the runner of the act'),
    body: () => ({ act: 'run', name: 'none' }),
  },
  'GET /v1/audit': { ...ofMaster('the runner audit.list'), seenBy: ['all'] },
  'GET /v1/commands/options': own('a log-in'),
  'POST /v1/commands/requests': {
    needs: 'as at port 4506',
    seenBy: RUNNERS,
    body: ({ id }) => {
      const load = { cmd: 'publish', fun: 'test.echo', arg: ['x'], tgt: id, tgt_type: 'glob' };
      const whole = mapOf({ ...load, kwargs: mapOf({}), ret: '', jid: '', user: 'x' });
      return { load: Buffer.from(pack(whole)).toString('base64') };
    },
  },
};

/** Streams of server-sent events: what is in them is a row of {@link TOPICS}. */
export const STREAMS: readonly string[] = ['GET /v1/stream', 'GET /v1/commands/events'];

/** A kind of topics, as it is asked for, and who of the six learns of the secret by it. */
export interface TopicRow {
  readonly topic: (secret: Pick<Secret, 'id'>) => string;
  readonly seenBy: readonly RightsUser[];
}

/** Each kind of topics of `/v1/stream`, by its name. */
export const TOPICS: Readonly<Record<string, TopicRow>> = {
  events: { topic: () => 'events', seenBy: ['all', 'lister', 'site'] },
  jobs: { topic: () => 'jobs', seenBy: LISTERS },
  // The jid is not known before: no job of another is in such a stream.
  job: { topic: () => 'job:20200101000000000000', seenBy: [] },
  minions: { topic: () => 'minions:facets=true:0..499', seenBy: REACH },
  overview: { topic: () => 'overview', seenBy: REACH },
};
