import { PrivateKey } from '@brine/crypt';
import { memoryMaster, vectorFile, type MemoryMaster } from '@brine/testing';
import { buildMinionEvent, buildMinionEvents, mapOf } from '@brine/wire';
import { describe, expect, it } from 'vitest';
import { takeMinionEvent } from './minion-event.ts';

const { master_key: key } = vectorFile<{ readonly master_key: { readonly pem: string } }>(
  'auth.json',
);
const masterKey = PrivateKey.parse(key.pem);
const JID = '20261122071500123456';
const tagsOf = (master: MemoryMaster): string[] => master.events.map(({ tag }) => tag);
const data = mapOf({ x: 1 });

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

  it('of the syndic itself does, once it has told that it is one', async () => {
    const master = memoryMaster({ masterKey });
    await takeMinionEvent(master.ports, '1', buildMinionEvent('a', 'salt/syndic/a/start', data));
    for (const pretag of ['syndic/a', 'syndic/b']) {
      await takeMinionEvent(master.ports, pretag, buildMinionEvents('a', events, pretag));
    }
    expect(tagsOf(master)).toEqual(['salt/syndic/a/start', `syndic/a/salt/job/${JID}/new`]);
    const above = memoryMaster({ masterKey, rules: { orderMasters: true } });
    const below = [{ tag: `salt/job/${JID}/ret/x`, data }];
    await takeMinionEvent(above.ports, '1', buildMinionEvents('a', below, 'syndic/a'));
    expect(tagsOf(above)).toEqual([below[0]!.tag, `syndic/a/${below[0]!.tag}`]);
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
