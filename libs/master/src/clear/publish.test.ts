import { PrivateKey } from '@brine/crypt';
import { ASKER_TRACES, type Jid, spanIdOf, traceIdOf } from '@brine/job';
import { type MemoryMaster, memoryMaster, vectorFile } from '@brine/testing';
import { mapIn, mapOf, type SaltMap, type SaltValue, unpackMap } from '@brine/wire';
import { COMMAND_NAME } from '@brine/wire/load';
import { describe, expect, it } from 'vitest';
import type { AnswerAbout } from '../ports/ports.ts';
import { publish } from './publish.ts';

interface ClearVector {
  readonly name: string;
  readonly request: string;
  readonly reply: string;
}
const vectors = vectorFile<{ readonly clear: readonly ClearVector[] }>('publish.json');
const auth = vectorFile<{ readonly master_key: { readonly pem: string } }>('auth.json');
const masterKey = PrivateKey.parse(auth.master_key.pem);
const KEY = 'KWTOzuaOpK48spuGbeljIrUicRstcxIZV071AZbZPwWusEwj9ygQ8r3bZAYph3/2hMsyRj9OWDw=';

function loadOf(vector: ClearVector): SaltMap {
  return mapIn(unpackMap(Buffer.from(vector.request, 'base64')), 'load')!;
}

function master(ids: readonly string[]): MemoryMaster {
  const made = memoryMaster({ masterKey, userKeys: { root: KEY } });
  for (const id of ids) {
    made.setKey(id, { state: 'accepted', pub: 'key', denied: [] });
    made.grains.set(id, mapOf({ os: 'Debian', id }));
  }
  return made;
}
const request = (id = 'r1') => ({ id, body: Buffer.alloc(0), gatewayHost: 'host1' });

/** Recorded publishes that a local key decides on. */
const byKey = vectors.clear.filter(({ name }) => !/eauth|token|syndic/.test(name));

describe('publishes recorded from the stock command line', () => {
  it.each(byKey.map((vector) => [vector.name, vector] as const))(
    '%s gets the answer of the stock master',
    async (_name, vector) => {
      const load = loadOf(vector);
      const recorded = unpackMap(Buffer.from(vector.reply, 'base64'));
      const theirs = mapIn(recorded, 'load');
      const made = master(['rb', 'rd', 'va', 'vb', 'vc', 'vd']);
      const { value } = await publish(made.ports, request(), load);
      const ours = mapIn(value, 'load');
      if (theirs === undefined || ours === undefined) {
        expect(value).toEqual(recorded);
        return;
      }
      expect([...ours.keys()]).toEqual([...theirs.keys()]);
      if (theirs.get('jid') === null) expect(ours).toEqual(theirs);
      const missing = theirs.get('missing') ?? null;
      expect(ours.get('missing') ?? null).toEqual(missing);
    },
  );

  it('one write holds the job: publication, load without the key, targets', async () => {
    const made = master(['va', 'vd']);
    const vector = vectors.clear.find(({ name }) => name === 'jobs: publish test.arg list')!;
    const { value, about } = await publish(made.ports, request(), loadOf(vector));
    const job = made.jobs[0]!;
    const { jid } = about as AnswerAbout & { readonly jid: string };
    expect(job).toMatchObject({ jid, minions: ['va', 'vd'], missing: [], host: 'host1' });
    const publication = unpackMap(job.publication);
    expect([...publication.keys()]).toEqual([
      'fun',
      'arg',
      'tgt',
      'jid',
      'ret',
      'tgt_type',
      'user',
    ]);
    const load = unpackMap(job.load);
    expect(load.has('key')).toBe(false);
    expect(load.get('jid')).toBe(jid);
    expect(mapIn(value, 'load')?.get('jid')).toBe(jid);
    expect(job.hidden).toBe(false);
    expect(job.deadlineAt - job.publishedAt).toBe(3_600_000);
    expect(Buffer.from(job.load).includes(KEY)).toBe(false);
  });

  it('keeps no key, token or password that its kwargs have', async () => {
    const made = master(['va']);
    // As a stock `salt` of root sends it where it finds a token.
    const kwargs = mapOf({ key: KEY, delimiter: ':', password: 'secret-1' });
    const load = loadOf(byKey[0]!).set('kwargs', kwargs).set('password', 'secret-2');
    await publish(made.ports, request(), load);
    const [job] = made.jobs;
    expect(mapIn(unpackMap(job!.load), 'kwargs')).toEqual(mapOf({ delimiter: ':' }));
    for (const secret of [KEY, 'secret-1', 'secret-2']) {
      expect(Buffer.from(job!.load).includes(secret)).toBe(false);
      expect(Buffer.from(job!.publication).includes(secret)).toBe(false);
    }
  });

  const askFor = async (deadline: SaltValue): Promise<{ value: SaltMap; after: number[] }> => {
    const made = master(['va']);
    const load = loadOf(byKey[0]!);
    load.set('kwargs', mapOf({ metadata: mapOf({ brine_deadline: deadline }) }));
    const { value } = await publish(made.ports, request(), load);
    return { value, after: made.jobs.map((job) => job.deadlineAt - job.publishedAt) };
  };

  it.each([
    [90, 90_000],
    [0, 0],
    [365 * 86_400, 365 * 86_400_000],
    [null, 3_600_000],
  ])('a job names its own deadline in its metadata: %j', async (seconds, after) => {
    expect((await askFor(seconds)).after).toEqual([after]);
  });

  it.each([[-5], [365 * 86_400 + 1], [2 ** 40], [2n ** 63n], ['90'], [1.5], [Number.NaN]])(
    'a deadline of %s is refused with what it takes',
    async (deadline) => {
      const { value, after } = await askFor(deadline);
      expect(after).toEqual([]);
      expect(mapIn(value, 'error')).toEqual(
        mapOf({
          name: 'SaltInvocationError',
          message: 'brine_deadline takes whole seconds from 0 to 31536000',
        }),
      );
    },
  );

  it('the same request tried twice is one job', async () => {
    const made = master(['va']);
    const load = loadOf(byKey[0]!);
    const first = await publish(made.ports, request('same'), load);
    const second = await publish(made.ports, request('same'), load);
    expect(first.about).toEqual({ kind: 'publish', jid: made.jobs[0]?.jid });
    expect(second.about).toEqual(first.about);
    expect(made.jobs).toHaveLength(1);
  });

  const CONTEXT = '00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-03';

  it('the trace context of a 3008 client is a link and goes on to the minions', async () => {
    const made = master(['va']);
    const load = loadOf(byKey[0]!).set('traceparent', CONTEXT);
    const { about } = await publish(made.ports, request(), load);
    expect(about).toMatchObject({ kind: 'publish', link: CONTEXT });
    expect(unpackMap(made.jobs[0]!.publication).get('traceparent')).toBe(CONTEXT);
  });

  it('with brine.trace_publications the job’s own context goes out, always', async () => {
    const made = master(['va']);
    const ports = { ...made.ports, rules: { ...made.ports.rules, tracePublications: true } };
    const asked = loadOf(byKey[0]!);
    for (const load of [new Map(asked), new Map(asked).set('traceparent', CONTEXT)]) {
      const { about } = await publish(ports, request(String(load.size)), load);
      const { jid } = about as AnswerAbout & { readonly jid: Jid };
      const job = made.jobs.find((one) => one.jid === jid)!;
      const own = `00-${traceIdOf(jid)}-${spanIdOf(jid, 'publish')}-01`;
      expect(unpackMap(job.publication).get('traceparent')).toBe(own);
    }
  });

  it('a job whose jid the caller fixed may come in pieces, which stay apart', async () => {
    const made = master(['va']);
    const load = loadOf(byKey[0]!).set('jid', '20261121100000000001');
    const { about } = await publish(made.ports, request('r1'), load);
    expect(about).toMatchObject({ jid: '20261121100000000001', piece: 'r1' });
    expect(made.jobs[0]).toMatchObject({ piece: 'r1' });
  });

  it('a command that records the root of the trace says so', async () => {
    const made = master(['va']);
    const load = loadOf(byKey[0]!).set('tracestate', ASKER_TRACES);
    const { about } = await publish(made.ports, request(), load);
    expect(about).toMatchObject({ askerTraces: true });
    expect(unpackMap(made.jobs[0]!.publication).has('tracestate')).toBe(false);
  });

  it('find_job is kept out of sight', async () => {
    const made = master(['rb']);
    const vector = vectors.clear.find(({ name }) => name.includes('find_job'))!;
    await publish(made.ports, request(), loadOf(vector));
    expect(made.jobs[0]?.hidden).toBe(true);
  });

  it('a refused publish fires an event, without key, password and name of the command', async () => {
    const made = master(['va']);
    const vector = vectors.clear.find(({ name }) => name.startsWith('eauthfail'))!;
    await publish(made.ports, request(), loadOf(vector).set(COMMAND_NAME, 'c1'));
    const event = made.events[0]!;
    expect(event.tag).toBe('salt/job/error');
    expect(unpackMap(event.body).has(COMMAND_NAME)).toBe(false);
    expect(Buffer.from(event.body).includes(KEY)).toBe(false);
    expect(unpackMap(event.body).has('kwargs')).toBe(false);
  });

  it('a refused publish under the id of a running job ends no wait for that job', async () => {
    const jid = '20261122101112131415';
    const tags = async (load: Record<string, SaltValue>): Promise<string[]> => {
      const job = { cmd: 'publish', fun: 'test.ping', arg: [], tgt: 'va', ret: '', jid };
      const made = master(['va']);
      await publish(made.ports, request(), mapOf({ ...job, ...load }));
      return made.events.map(({ tag }) => tag);
    };
    expect(await tags({ key: 'x', user: 'root' })).toEqual(['salt/job/error']);
    expect(await tags({ kwargs: mapOf({ token: 'x' }) })).toEqual(['salt/job/error']);
    // A syndic that hands down the rights of a user above publishes under the id of the job above.
    const kwargs = mapOf({ auth_list: ['sys.doc'] });
    expect(await tags({ key: KEY, user: 'root', kwargs })).toEqual([`salt/job/${jid}/error`]);
  });

  it('a refused publish fills no stream, however large it is and however often it comes', async () => {
    const made = master(['va']);
    const load = mapOf({ cmd: 'publish', tgt: 'va', fun: 'test.arg', ret: '', jid: '', key: 'x' });
    load.set('arg', ['x'.repeat(1 << 20)]);
    let left = 3;
    const ports = { ...made.ports, mayReportStranger: () => (left -= 1) >= 0 };
    for (let n = 0; n < 10; n += 1) {
      const { value } = await publish(ports, request(`r${n}`), load);
      expect(mapIn(value, 'error')?.get('name')).toBe('AuthenticationError');
    }
    expect(made.events.map(({ body }) => body.length < 1_000)).toEqual([true, true, true]);
    expect(made.counts.get('publish_event_left_out')).toBe(7);
  });

  it('a function on the blacklist is refused to every user', async () => {
    const made = master(['va']);
    const blacklist = { users: [], modules: ['cmd.*'] };
    const ports = {
      ...made.ports,
      rules: { ...made.ports.rules, publisherAclBlacklist: blacklist },
    };
    const vector = vectors.clear.find(({ name }) => name === 'jobs: publish cmd.run list')!;
    const { value } = await publish(ports, request(), loadOf(vector));
    expect(mapIn(value, 'error')?.get('name')).toBe('AuthorizationError');
    expect(made.jobs).toEqual([]);
  });

  it.each([
    ['no target', mapOf({ cmd: 'publish', fun: 'test.ping', key: KEY, user: 'root' })],
    ['a target that is a number', mapOf({ tgt: 7, fun: 'test.ping', key: KEY, user: 'root' })],
    ['a function that is a map', mapOf({ tgt: '*', fun: mapOf({}), key: KEY, user: 'root' })],
    ['kwargs that are a list', mapOf({ tgt: '*', fun: 'x', key: KEY, kwargs: [] })],
  ])('%s is refused with a text, nothing is published', async (_what, load) => {
    const made = master(['va']);
    const { value } = await publish(made.ports, request(), load);
    expect(typeof value.get('error')).toBe('string');
    expect(made.jobs).toEqual([]);
  });
});
