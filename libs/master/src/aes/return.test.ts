import { PrivateKey } from '@brine/crypt';
import { memoryMaster, vectorFile } from '@brine/testing';
import { mapOf, pack, type SaltMap, type SaltValue, textOf, unpackMap } from '@brine/wire';
import { expect, test } from 'vitest';
import { takeReturn } from './return.ts';

const auth = vectorFile<{ readonly master_key: { readonly pem: string } }>('auth.json');
const masterKey = PrivateKey.parse(auth.master_key.pem);
const JID = '20261122101112131415';

/** The events that come of a return of `web1`; `db1` is another minion of this master. */
async function eventsOf(fields: Readonly<Record<string, SaltValue>>) {
  const master = memoryMaster({ masterKey });
  for (const id of ['web1', 'db1']) master.setKey(id, { state: 'accepted', pub: '', denied: [] });
  const load = { cmd: '_return', id: 'web1', jid: JID, return: true, fun: 'test.ping', ...fields };
  const body = pack(mapOf(load));
  await takeReturn(master.ports, { id: 'r1', body, gatewayHost: 'h' }, body);
  const events = master.events.map(({ tag, body: told }) => ({
    tag,
    data: unpackMap(Buffer.from(told)),
  }));
  return { events, tags: events.map(({ tag }) => tag), counts: master.counts };
}

const WORDS = { error: 'x', minions: ['z'], missing: ['y'], syndic: 's' };

test('a return keeps no field that readers take for the word of the master', async () => {
  const { events } = await eventsOf({ ...WORDS, metadata: mapOf({ error: 1 }) });
  const [event] = events;
  expect(event?.tag).toBe(`salt/job/${JID}/ret/web1`);
  expect([...(event?.data.keys() ?? [])].sort()).toEqual(
    ['cmd', 'fun', 'id', 'jid', 'metadata', 'return'].sort(),
  );
});

test('a link that is no traceparent stays out of the headers of the event, and the return is kept', async () => {
  const master = memoryMaster({ masterKey });
  const take = async (traceparent: string): Promise<string | undefined> => {
    const sent = traceparent.length;
    const load = { cmd: '_return', id: 'web1', jid: JID, return: sent, fun: 'x', traceparent };
    const body = pack(mapOf(load));
    await takeReturn(master.ports, { id: traceparent, body, gatewayHost: 'h' }, body);
    return master.events.at(-1)?.link;
  };
  const real = `00-${'a'.repeat(32)}-${'b'.repeat(16)}-01`;
  expect(await take(real)).toBe(real);
  for (const none of ['x'.repeat(70_000), 'a\nb', '\0', '\u{1F9C2}'.repeat(60_000)]) {
    expect(await take(none)).toBeUndefined();
  }
  expect(master.events.length).toBe(5);
});

test('a large return has an id that is the same at each send, a small one none', async () => {
  const master = memoryMaster({ masterKey });
  const take = async (bytes: number, ts: number): Promise<string | undefined> => {
    const load = { cmd: '_return', id: 'web1', jid: JID, return: 'x'.repeat(bytes), fun: 'x', ts };
    const body = pack(mapOf(load));
    await takeReturn(master.ports, { id: `${bytes} ${ts}`, body, gatewayHost: 'h' }, body);
    return master.events.at(-1)?.msgId;
  };
  const id = await take(40_000, 1);
  expect(id).toMatch(new RegExp(`^ret:${JID}:web1:[\\w-]{27}$`));
  expect(await take(40_000, 2)).toBe(id);
  expect(await take(40_001, 2)).not.toBe(id);
  expect(await take(100, 1)).toBeUndefined();
});

test('a return is of no other minion, whatever its resource_id says', async () => {
  const forged = await eventsOf({ resource_id: 'db1' });
  expect(forged.tags).toEqual([`brine/sighting/${JID}/refused`]);
  expect(forged.counts.get('return_for_another')).toBe(1);
  for (const resource_id of ['dummy-01', 'web1', '']) {
    expect((await eventsOf({ resource_id })).tags).toEqual([`salt/job/${JID}/ret/web1`]);
  }
});

test('the name of a failed state is a tag only where it is one of a state', async () => {
  const state = (name: string): SaltMap =>
    mapOf({ [name]: mapOf({ result: false, id: 'db1', jid: 'x', ...WORDS }) });
  const run = async (name: string) => {
    const told = await eventsOf({ fun: 'state.sls', retcode: 2, return: state(name) });
    const sub = told.events.filter(({ tag }) => tag !== `salt/job/${JID}/ret/web1`);
    for (const { tag, data } of sub) {
      // As at a stock master only the second says more than the state.
      const more = tag.startsWith('salt/') ? ['web1', JID, 'Error: '] : [undefined, undefined, ''];
      const said = (textOf(data, 'return') ?? '').slice(0, 'Error: '.length);
      expect([data.get('id'), data.get('jid'), said]).toEqual(more);
      expect(data.get('retcode')).toBe(2);
      expect(Object.keys(WORDS).filter((word) => data.has(word))).toEqual([]);
    }
    return sub.map(({ tag }) => tag);
  };
  const error = `salt/job/${JID}/sub/web1/error/state.sls`;
  expect(await run('pkg_|-vim_|-vim_|-installed')).toEqual(['pkg.installed', error]);
  for (const first of [`salt/job/${JID}/ret/db1`, 'salt/key', JID, 'salt/run/1', '', 'a\n\nb']) {
    expect(await run(`${first}_|-x_|-x_|-y`)).toEqual([error]);
    expect(await run(`x_|-x_|-x_|-${first}`)).toEqual([error]);
  }
});
