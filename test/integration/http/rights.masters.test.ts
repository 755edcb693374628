// Rights to read of `/v1`: each operation, topic and kind of events as six users. A minion with a
// job, events and a key comes: what most of them are answered is the same as before.
import { BrineMaster, freePorts } from '@brine/testing';
import { until } from '@brine/testing/waits';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import {
  RIGHTS,
  RIGHTS_USERS,
  type RightsRow,
  type RightsUser,
  type Secret,
  TOPICS,
} from '../../../libs/netapi/test/rights-of-v1.ts';
import { StreamClient } from '../../../libs/netapi/test/stream-client.ts';

const PASSWORD = 'shared';
const USERS = Object.keys(RIGHTS_USERS) as RightsUser[];
const ID = 'db9-hidden';
const KEY = 'db8-hidden';
const ARGUMENT = 'argument-hidden';
/** Parts of what only some may see. */
const MARKS = [ID, KEY, ARGUMENT, 'grain-hidden', 'data-hidden'];
const NONE: Secret = {
  id: ID,
  jid: '20200101000000000000',
  position: '999999999-999999999_00000000',
};

let master: BrineMaster;
let base = '';
const tokens = new Map<RightsUser, string>();

interface Sent {
  readonly method?: string;
  readonly token?: string | undefined;
  readonly body?: unknown;
}

async function ask(path: string, { method, token, body }: Sent = {}) {
  const answer = await fetch(base + path, {
    method: method ?? (body === undefined ? 'GET' : 'POST'),
    headers: {
      ...(token === undefined ? {} : { 'X-Auth-Token': token }),
      ...(body === undefined ? {} : { 'Content-Type': 'application/json' }),
    },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
  });
  return { status: answer.status, headers: answer.headers, text: await answer.text() };
}

async function logIn(username: RightsUser): Promise<string> {
  const body = { username, password: PASSWORD, eauth: 'sharedsecret' };
  const { headers } = await ask('/login', { body });
  return headers.get('x-auth-token') ?? '';
}

/** What a user is answered about the secret. */
async function answerOf(user: RightsUser, name: string, secret: Secret) {
  const [method = '', path = ''] = name.split(' ');
  const row = RIGHTS[name] as RightsRow;
  const values: Readonly<Record<string, string>> = { ...row.params, ...secret };
  const filled = path.replaceAll(/\{(\w+)\}/g, (_, of: string) =>
    encodeURIComponent(values[of] ?? ''),
  );
  // The log-out ends a log-in of its own.
  const token = name === 'DELETE /v1/session' ? await logIn(user) : tokens.get(user);
  const { status, text } = await ask(`${filled}${row.query?.(secret) ?? ''}`, {
    method,
    token: row.isOpen ? undefined : token,
    body: row.body?.(secret),
  });
  return { status, text: sameText(text, secret), whole: text };
}

/** Fields that change by themselves. */
const OWN_TIME = new Set(['asOf', 'seen', 'expires', 'started']);
const TIME = /^\d{4}-\d\d-\d\dT[\d:.]+Z$/;

/** An answer without times, and without the names of what was asked for. */
function sameText(text: string, { jid, position }: Secret): string {
  if (text === '') return '';
  const plain = JSON.stringify(JSON.parse(text), (name, value: unknown) => {
    if (OWN_TIME.has(name)) return undefined;
    return typeof value === 'string' && TIME.test(value) ? '<time>' : value;
  });
  return plain.replaceAll(jid, '<jid>').replaceAll(position, '<position>');
}

/** Operations in an order in which none changes what a later one is answered. */
const OPERATIONS = Object.keys(RIGHTS).sort(
  (one, other) => Number(!one.startsWith('GET')) - Number(!other.startsWith('GET')),
);
/** Those that may do most come last. */
const IN_ORDER = [...USERS].reverse();
type Answers = Map<string, Awaited<ReturnType<typeof answerOf>>>;

async function allAnswers(secret: Secret): Promise<Answers> {
  const answers: Answers = new Map();
  for (const name of OPERATIONS) {
    const { isOpen } = RIGHTS[name] as RightsRow;
    for (const user of isOpen ? IN_ORDER.slice(0, 1) : IN_ORDER) {
      answers.set(`${user}: ${name}`, await answerOf(user, name, secret));
    }
  }
  return answers;
}

const streams = new Map<string, StreamClient>();
/** The log-ins of streams: each has its own. */
const ofStreams: string[] = [];
let before: Answers;
let after: Answers;
let secret: Secret;

const call = (low: object) => ask('/', { token: tokens.get('all'), body: [low] });

/** The tags of all stored events that a user sees. */
async function tagsOf(user: RightsUser): Promise<string[]> {
  const { text } = await ask('/v1/events?from=oldest&limit=500', { token: tokens.get(user) });
  const { items } = JSON.parse(text) as { items: { tag: string; position: string }[] };
  return items.map(({ tag }) => tag);
}

async function positionOf(tag: string): Promise<string> {
  const { text } = await ask(`/v1/events?from=oldest&tag=${encodeURIComponent(tag)}`, {
    token: tokens.get('all'),
  });
  const { items } = JSON.parse(text) as { items: { position: string }[] };
  return items[0]?.position ?? '';
}

/** A minion, its key, a job on it, and an event of each kind about it. */
async function makeSecret(): Promise<Secret> {
  await master.startMinion(ID, { grains: { roles: 'grain-hidden' } });
  await until(
    'it takes jobs',
    async () => (await tagsOf('all')).includes(`salt/minion/${ID}/start`),
    { withinMs: 90_000 },
  );
  const body = { tgt: ID, fun: 'test.echo', arg: [ARGUMENT] };
  const { text } = await ask('/v1/jobs', { token: tokens.get('all'), body });
  const { jid } = JSON.parse(text) as { jid: string };
  await until('the job has ended', async () => {
    const { text: job } = await ask(`/v1/jobs/${jid}`, { token: tokens.get('all') });
    return job.includes('"returned":1');
  });
  await call({ client: 'wheel', fun: 'key.gen_accept', id_: KEY });
  const act = { act: 'delete', ids: [KEY], expect: { count: 1 } };
  const acted = await ask('/v1/keys/act', { token: tokens.get('all'), body: act });
  expect(acted.text).toContain('"done"');
  await call({ client: 'runner', fun: 'test.arg', arg: [ARGUMENT] });
  await call({ client: 'runner', fun: 'event.send', arg: ['site/hidden', { x: 'data-hidden' }] });
  await ask('/hook/hidden', { token: tokens.get('all'), body: { x: 'data-hidden' } });
  await until('the last event is stored', async () =>
    (await tagsOf('all')).includes('salt/netapi/hook/hidden'),
  );
  return { id: ID, jid, position: await positionOf('site/hidden') };
}

beforeAll(async () => {
  const [port = 0] = await freePorts(1);
  base = `http://127.0.0.1:${port}`;
  master = await BrineMaster.start({
    auto_accept: true,
    presence_events: true,
    loop_interval: 5,
    sharedsecret: PASSWORD,
    external_auth: { sharedsecret: RIGHTS_USERS },
    netapi_enable_clients: ['local', 'runner', 'wheel'],
    rest_cherrypy: { port, host: '127.0.0.1', disable_ssl: true },
  });
  await master.startMinion('web1');
  await master.waitForMinions(['web1']);
  for (const user of USERS) tokens.set(user, await logIn(user));
  await until('its presence is known', async () => {
    const { text } = await ask('/v1/minions/web1', { token: tokens.get('all') });
    return text.includes('"present":true');
  });
  await until('a minion has described its functions', async () => {
    const { text } = await ask('/v1/functions', { token: tokens.get('all') });
    return text.includes('"complete":true');
  });
  for (const [kind, { topic }] of Object.entries(TOPICS)) {
    for (const user of USERS) {
      const client = new StreamClient();
      streams.set(`${user}: ${kind}`, client);
      const token = await logIn(user);
      ofStreams.push(token);
      await client.open(base, topic({ id: ID }), { token });
    }
  }
  before = await allAnswers(NONE);
  secret = await makeSecret();
  after = await allAnswers(secret);
}, 300_000);
afterAll(async () => {
  for (const client of streams.values()) client.close();
  await master?.close();
});

/** The users whose answer changed, by operation. */
function seersOf(name: string): RightsUser[] {
  return USERS.filter((user) => {
    const [one, other] = [before, after].map((answers) => answers.get(`${user}: ${name}`));
    return one?.status !== other?.status || one?.text !== other?.text;
  });
}

describe('an operation shows what its caller may read', () => {
  test.each(OPERATIONS)('%s: no other answer changes by what is beyond its caller', (name) => {
    const { seenBy, varies = [] } = RIGHTS[name] as RightsRow;
    const shown = USERS.map((user) => `${user}: ${after.get(`${user}: ${name}`)?.whole ?? ''}`);
    const seers = seersOf(name).filter((user) => !varies.includes(user));
    expect(seers, shown.join('\n').slice(0, 4_000)).toEqual([...seenBy]);
  });

  test.each(OPERATIONS)('%s: no other answer has an id, value or argument of it', (name) => {
    const { seenBy, isOpen, varies = [] } = RIGHTS[name] as RightsRow;
    const asked = isOpen ? IN_ORDER.slice(0, 1) : USERS;
    for (const user of asked.filter((one) => ![...seenBy, ...varies].includes(one))) {
      const { whole = '', status = 0 } = after.get(`${user}: ${name}`) ?? {};
      expect(status).toBeGreaterThan(0);
      // The path and the body that were sent may come back in a refusal.
      const marks = status === 200 ? MARKS : MARKS.filter((mark) => mark !== ID);
      for (const mark of marks) expect(whole, user).not.toContain(mark);
      expect(status, user).toBeLessThan(500);
    }
  });
});

test.each(OPERATIONS.filter((name) => RIGHTS[name]?.allows))(
  '%s is refused to those without its right',
  (name) => {
    const { allows = [] } = RIGHTS[name] as RightsRow;
    for (const answers of [before, after]) {
      const refused = USERS.filter((user) => answers.get(`${user}: ${name}`)?.status === 403);
      expect(refused).toEqual(USERS.filter((user) => !allows.includes(user)));
    }
  },
);

describe('a kind of events is shown to those who may read what it is about', () => {
  test.each<[string, RegExp, readonly RightsUser[]]>([
    ['job', /^salt\/job\/\d+\/new$/, ['all', 'lister']],
    ['returns', /^salt\/job\/\d+\/ret\/db9-hidden$/, ['all', 'lister']],
    ['key', /^salt\/key$/, ['all', 'lister']],
    ['auth', /^salt\/auth$/, ['all', 'lister']],
    ['presence', /^salt\/presence\/(present|change)$/, ['all', 'lister']],
    ['run', /^salt\/run\/\d+\/(new|ret)$/, ['all']],
    ['wheel', /^salt\/wheel\/\d+\/(new|ret)$/, ['all']],
    ['site', /^site\/hidden$/, ['all', 'site']],
    ['hook', /^salt\/netapi\/hook\/hidden$/, ['all', 'site']],
  ])('%s', async (_, tag, seenBy) => {
    const seen: RightsUser[] = [];
    for (const user of USERS)
      if ((await tagsOf(user)).some((one) => tag.test(one))) seen.push(user);
    expect(seen).toEqual(seenBy);
  });
});

describe('a topic shows what its follower may read', () => {
  const hasMark = ({ messages }: StreamClient): boolean =>
    [secret.jid, ...MARKS].some((mark) => JSON.stringify(messages).includes(mark));
  /** The texts of each kind of message, each once. */
  const textsOf = ({ messages }: StreamClient): ReadonlyMap<string, ReadonlySet<string>> => {
    const texts = new Map<string, Set<string>>();
    for (const { event, data } of messages) {
      const known = texts.get(event) ?? new Set();
      texts.set(event, known.add(sameText(JSON.stringify(data), NONE)));
    }
    return texts;
  };
  /** Counts have no mark. */
  const hasChanged = (client: StreamClient): boolean =>
    [...textsOf(client).values()].some(({ size }) => size > 1);

  test.each(Object.entries(TOPICS))('%s', async (kind, { seenBy }) => {
    const of = (user: RightsUser) => streams.get(`${user}: ${kind}`) as StreamClient;
    for (const user of seenBy) {
      const client = of(user);
      await until(`${user} has it`, () => hasMark(client) || hasChanged(client));
    }
    for (const user of USERS.filter((one) => !seenBy.includes(one))) {
      const client = of(user);
      expect(client.status, user).toBe(200);
      expect(hasMark(client), user).toBe(false);
      // Not even a count changes.
      for (const [event, texts] of textsOf(client)) {
        expect([...texts], `${user} ${event}`).toHaveLength(1);
      }
    }
  });
});

test('each topic of each user is closed within 30 s after its token was revoked', async () => {
  const open = [...streams.values()].filter(({ isEnded }) => !isEnded);
  expect(open).toHaveLength(streams.size);
  for (const token of ofStreams) {
    expect((await ask('/v1/session', { method: 'DELETE', token })).status).toBe(204);
  }
  await until('all are closed', () => open.every(({ isEnded }) => isEnded), { withinMs: 45_000 });
  for (const client of open) expect(client.of('bye')).toHaveLength(1);
}, 60_000);
