import { PrivateKey } from '@brine/crypt';
import { type MemoryMaster, memoryMaster, vectorFile } from '@brine/testing';
import { mapOf, type SaltMap, unpackMap } from '@brine/wire';
import { buildMinionEvent, buildMinionEvents } from '@brine/wire/load';
import { describe, expect, it } from 'vitest';
import type { MasterRules } from '../ports/ports.ts';
import { takeMinionEvent } from './minion-event.ts';

const { master_key: key } = vectorFile<{ readonly master_key: { readonly pem: string } }>(
  'auth.json',
);
const masterKey = PrivateKey.parse(key.pem);
const JID = '20261122071500123456';
const tagsOf = (master: MemoryMaster): string[] => master.events.map(({ tag }) => tag);
const data = mapOf({ x: 1 });
const ABOVE = { orderMasters: true };

/** Both forms, as minion `a` sends them. */
async function firedBy(
  tag: string,
  fired: SaltMap,
  rules: Partial<MasterRules> = {},
): Promise<{ readonly single: string[]; readonly list: string[]; readonly refused: number }> {
  const master = memoryMaster({ masterKey, rules });
  await takeMinionEvent(master.ports, '1', new Map([...buildMinionEvent('a', tag, fired)]));
  const single = tagsOf(master);
  await takeMinionEvent(master.ports, '2', buildMinionEvents('a', [{ tag, data: fired }], null));
  const list = tagsOf(master).slice(single.length);
  return { single, list, refused: master.counts.get('minion_event_refused') ?? 0 };
}

describe('an event of a minion', () => {
  const own = [
    ...['salt/minion/a/start', 'salt/beacon/a/load/', 'minion_start', 'minion_ping', 'my/deploy'],
    ...[`salt/job/${JID}/prog/a/0`, `salt/job/${JID}/start/a`, `salt/state_result/${JID}/a/web`],
  ];
  it.each(own)('%s passes in both forms', async (tag) => {
    expect(await firedBy(tag, data)).toEqual({ single: [tag], list: [tag], refused: 0 });
    expect((await firedBy(tag, mapOf({ id: 'a' }))).list).toEqual([tag]);
  });

  const refused = [
    ...['salt/key', 'salt/auth', 'salt/presence/change', 'salt/wheel/1/x', JID, `syndic/a/x`],
    ...['new', 'error', 'ret/a', 'ret/b', 'prog/b/0'].map((step) => `salt/job/${JID}/${step}`),
    ...['salt/minion/b/start', 'salt/beacon/b/x/', 'salt/engines/hook/x', 'salt/x', 'Salt/key'],
  ];
  it.each(refused)('%s is refused in both forms', async (tag) => {
    expect(await firedBy(tag, data)).toEqual({ single: [], list: [], refused: 2 });
  });

  it.each([...own.filter((tag) => tag !== 'my/deploy')])(
    '%s that names another minion inside is refused',
    async (tag) => {
      for (const id of ['b', 7, ['a'], Buffer.from([0xff])]) {
        expect((await firedBy(tag, mapOf({ id }))).refused).toBe(2);
      }
      const nested = await firedBy(tag, mapOf({ id: 'a', data: mapOf({ id: 'b' }) }));
      expect(nested.list).toEqual([]);
    },
  );

  it.each(['error', 'minions', 'missing', 'syndic'])(
    'progress that carries %s, the word of the master, is refused',
    async (word) => {
      const master = memoryMaster({ masterKey });
      const tag = `salt/job/${JID}/prog/a/0`;
      const load = new Map([...buildMinionEvent('a', tag, data), [word, ['b']]]);
      await takeMinionEvent(master.ports, '1', load);
      const events = [{ tag, data: mapOf({ [word]: ['b'] }) }];
      await takeMinionEvent(master.ports, '2', buildMinionEvents('a', events, null));
      expect(tagsOf(master)).toEqual([]);
    },
  );

  it('is more where brine.minion_events says so, but never a tag of the master', async () => {
    const rules = { minionEvents: ['salt/engines/hook/*', 'salt/minion/{id}/*'] };
    for (const tag of ['salt/engines/hook/x', 'salt/minion/a/done']) {
      expect((await firedBy(tag, data, rules)).refused).toBe(0);
    }
    expect((await firedBy('salt/minion/b/done', data, rules)).refused).toBe(2);
    for (const tag of ['salt/key', `salt/job/${JID}/ret/a`, JID, 'salt//key']) {
      expect((await firedBy(tag, data, { minionEvents: ['*', '*{id}*'] })).refused).toBe(2);
    }
  });
});

describe('a syndic', () => {
  it('speaks for those below it, and for no minion of this master', async () => {
    const master = memoryMaster({ masterKey, rules: ABOVE });
    await master.ports.syndics.remember('a');
    master.setKey('b', { state: 'accepted', pub: '', denied: [] });
    const tags = ['salt/minion/low/start', 'salt/minion/b/start', 'salt/beacon/low/x/', 'my/tag'];
    const events = tags.map((tag) => ({ tag, data }));
    events.push({ tag: 'minion_start', data: mapOf({ id: 'b' }) });
    await takeMinionEvent(master.ports, '1', buildMinionEvents('a', events, 'syndic/a'));
    const plain = tagsOf(master).filter((tag) => !tag.startsWith('syndic/a/'));
    expect(plain).toEqual(['salt/minion/low/start', 'salt/beacon/low/x/', 'my/tag']);
    expect(master.events).toHaveLength(events.length + plain.length);
  });
});

describe('a pretag', () => {
  const events = [{ tag: `salt/job/${JID}/new`, data }];
  it.each(['salt/run/1', 'syndic/b', 'salt', 'syndic/a'])(
    '%s of a plain minion prefixes nothing',
    async (pretag) => {
      const master = memoryMaster({ masterKey });
      const load = buildMinionEvents('a', [{ tag: 'my/tag', data }, ...events], pretag);
      await takeMinionEvent(master.ports, '1', load);
      expect(tagsOf(master)).toEqual(['my/tag']);
    },
  );

  it('of the syndic itself does below order_masters, once it has said that it is one', async () => {
    const start = buildMinionEvent('a', 'salt/syndic/a/start', data);
    const below = [{ tag: `salt/job/${JID}/prog/x/0`, data }, ...events];
    const alone = memoryMaster({ masterKey });
    const master = memoryMaster({ masterKey, rules: ABOVE });
    const untold = memoryMaster({ masterKey, rules: ABOVE });
    const unfit = memoryMaster({ masterKey, rules: { ...ABOVE, syndics: ['other*'] } });
    for (const { ports } of [alone, master, unfit]) await takeMinionEvent(ports, '1', start);
    for (const { ports } of [alone, master, untold, unfit]) {
      await takeMinionEvent(ports, 'b', buildMinionEvents('a', below, 'syndic/b'));
      await takeMinionEvent(ports, 'a', buildMinionEvents('a', below, 'syndic/a'));
    }
    const [first, second] = below.map(({ tag }) => tag);
    expect(tagsOf(alone)).toEqual(['salt/syndic/a/start']);
    expect(tagsOf(unfit)).toEqual(['salt/syndic/a/start']);
    expect(tagsOf(untold)).toEqual([]);
    expect(tagsOf(master)).toEqual([
      'salt/syndic/a/start',
      first,
      `syndic/a/${first}`,
      first,
      `syndic/a/${second}`,
    ]);
  });

  it('with minions gives store and host the minions that a lower master expects', async () => {
    const master = memoryMaster({ masterKey, rules: ABOVE });
    await master.ports.syndics.remember('a');
    const fired = mapOf({ jid: JID, fun: 'test.ping', minions: ['x', '../y', 'w'], missing: [] });
    for (const once of ['1', '2']) {
      const load = buildMinionEvents(
        'a',
        [{ tag: `salt/job/${JID}/new`, data: fired }],
        'syndic/a',
      );
      await takeMinionEvent(master.ports, once, load);
    }
    const [prefixed, expected, again] = master.events;
    expect(prefixed).toMatchObject({ kind: 'syndic', tag: `syndic/a/salt/job/${JID}/new` });
    expect(again).toMatchObject({ kind: 'syndic' });
    expect(expected?.kind).toBe('sighting');
    const load = mapOf({ fun: 'test.ping' });
    expect(unpackMap(expected?.body ?? Buffer.alloc(0))).toEqual(
      mapOf({ jid: JID, ids: ['w', 'x'], kind: 'below', syndic: 'a', deadline: 3600, load }),
    );
    expect(master.events).toHaveLength(3);
  });

  it('of a syndic that is also a minion leaves its id in the targets', async () => {
    const { ports } = memoryMaster({ masterKey, rules: ABOVE });
    await takeMinionEvent(ports, '1', buildMinionEvent('a', 'salt/syndic/a/start', data));
    expect([...ports.syndics.unanswering()]).toEqual(['a']);
    const below = [{ tag: 'salt/minion/a/start', data }];
    await takeMinionEvent(ports, '2', buildMinionEvents('a', below, 'syndic/a'));
    expect([...ports.syndics.unanswering()]).toEqual(['a']);
    await takeMinionEvent(ports, '3', buildMinionEvent('a', 'salt/minion/a/start', data));
    expect([...ports.syndics.unanswering()]).toEqual([]);
    expect(await ports.syndics.isKnown('a')).toBe(true);
  });

  it('may not name a syndic by the event of another', async () => {
    const master = memoryMaster({ masterKey });
    await takeMinionEvent(master.ports, '1', buildMinionEvent('a', 'salt/syndic/b/start', data));
    await takeMinionEvent(master.ports, '2', buildMinionEvents('b', events, 'syndic/b'));
    expect(tagsOf(master)).toEqual([]);
  });
});

it('the same request sent again fires nothing', async () => {
  const master = memoryMaster({ masterKey });
  for (let n = 0; n < 3; n += 1) {
    await takeMinionEvent(master.ports, 'a:nonce', buildMinionEvent('a', 'my/tag', data));
  }
  expect(tagsOf(master)).toEqual(['my/tag']);
});

it('grains of a start event are kept under the id of the channel', async () => {
  const master = memoryMaster({ masterKey });
  const fired = mapOf({ grains: mapOf({ os: 'Arch', id: 'b' }) });
  const load = new Map([...buildMinionEvent('a', 'salt/minion/a/start', fired), ...fired]);
  await takeMinionEvent(master.ports, '1', load);
  expect(master.grains.get('a')).toEqual(mapOf({ os: 'Arch', id: 'a' }));
});
