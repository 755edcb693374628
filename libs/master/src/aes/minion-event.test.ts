import { PrivateKey } from '@brine/crypt';
import { memoryMaster, vectorFile, type MemoryMaster } from '@brine/testing';
import { buildMinionEvent, buildMinionEvents, mapOf, unpackMap } from '@brine/wire';
import { describe, expect, it } from 'vitest';
import { takeMinionEvent } from './minion-event.ts';

const { master_key: key } = vectorFile<{ readonly master_key: { readonly pem: string } }>(
  'auth.json',
);
const masterKey = PrivateKey.parse(key.pem);
const JID = '20261122071500123456';
const tagsOf = (master: MemoryMaster): string[] => master.events.map(({ tag }) => tag);
const data = mapOf({ x: 1 });
const ABOVE = { orderMasters: true };

describe('tags of the master and of other minions', () => {
  const refused = [`salt/job/${JID}/new`, 'salt/key', 'salt/auth', `salt/job/${JID}/ret/b`];
  it.each(refused)('%s is refused in the single and in the list form', async (tag) => {
    const master = memoryMaster({ masterKey });
    await takeMinionEvent(master.ports, '1', buildMinionEvent('a', tag, data));
    await takeMinionEvent(master.ports, '2', buildMinionEvents('a', [{ tag, data }], null));
    expect(tagsOf(master)).toEqual([]);
    expect(master.counts.get('minion_event_refused')).toBe(2);
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

  it('of the syndic itself does below order_masters, once it has told that it is one', async () => {
    const start = buildMinionEvent('a', 'salt/syndic/a/start', data);
    const below = [{ tag: `salt/job/${JID}/ret/x`, data }, ...events];
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

  it('with minions tells the store and the host whom a lower master expects', async () => {
    const master = memoryMaster({ masterKey, rules: ABOVE });
    await master.ports.syndics.remember('a');
    const told = mapOf({ jid: JID, fun: 'test.ping', minions: ['x', '../y', 'w'], missing: [] });
    for (const once of ['1', '2']) {
      const load = buildMinionEvents('a', [{ tag: `salt/job/${JID}/new`, data: told }], 'syndic/a');
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

  it('of a syndic under whose id a minion answers too leaves it in the targets', async () => {
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
