import { mapOf, pack, type SaltMap } from '@brine/wire';
import { expect, test } from 'vitest';
import { HostBatches } from './host-batches.ts';

const JID = '20261126120000123456';

function host(onDisk?: SaltMap) {
  const states = new Map<string, SaltMap>(onDisk === undefined ? [] : [[JID, onDisk]]);
  const active = new Set<string>();
  const offered: { readonly jid: string; readonly data: SaltMap; readonly by: SaltMap }[] = [];
  const batches = new HostBatches({
    files: {
      writeState: async (jid, state) => void states.set(jid, state),
      readOwnState: async (jid) => states.get(jid),
      active: async () => active,
      mark: async (jid, isActive) => void (isActive ? active.add(jid) : active.delete(jid)),
    },
    host: 'h1',
    offer: async (jid, data, by) => {
      offered.push({ jid, data, by });
      return offered.length === 1;
    },
    onTrouble: (text, err) => {
      throw new Error(text, { cause: err });
    },
    onAdopted: () => undefined,
  });
  const fire = async (suffix: string, data: SaltMap, kind = 'local'): Promise<void> => {
    const tag = `salt/batch/${JID}/${suffix}`;
    batches.saw({ kind, tag, fetch: async () => pack(data, 'bin') } as never);
    await batches.close();
  };
  return { states, active, offered, batches, fire };
}

const stock = mapOf({ driver: 'master', user: 'root', pending: ['b'], active: mapOf({ a: 1 }) });

test('the batch of a stock command is handed to the workers, with what it left on the disk', async () => {
  const { fire, offered } = host(stock);
  await fire('new', mapOf({ driver: 'master', user: 'root' }));
  expect(offered).toHaveLength(1);
  expect(offered[0]?.data.get('adopt')).toEqual(stock);
});

test('a state that only an event has is shown to stock tools and never worked on', async () => {
  const { fire, offered, states, active } = host();
  await fire('new', mapOf({ state: mapOf({ driver: 'master', fun: 'cmd.run' }) }));
  await fire('new', mapOf({ driver: 'master' }));
  expect(offered).toEqual([]);
  expect(states.size).toBe(0);
  await fire('new', mapOf({ state: mapOf({ driver: 'cli' }) }));
  expect([states.has(JID), active.has(JID)]).toEqual([true, true]);
  await fire('complete', mapOf({ state: mapOf({ driver: 'cli', halted: false }) }));
  expect(active.has(JID)).toBe(false);
  expect(offered).toEqual([]);
});

test('a minion that fires under the tag of a batch changes nothing', async () => {
  const { fire, offered, states } = host(stock);
  await fire('new', mapOf({ driver: 'master' }), 'minion');
  expect(offered).toEqual([]);
  await fire('progress', mapOf({ state: mapOf({ driver: 'cli' }) }), 'minion');
  expect(states.get(JID)).toBe(stock);
});

test('a batch of ours is not adopted again, and neither is a halted one', async () => {
  const ours = host(stock);
  await ours.fire('new', mapOf({ driver: 'master', brine: mapOf({ seq: 0 }) }));
  expect(ours.offered).toEqual([]);
  const halted = host(new Map([...stock, ['halted', true]]));
  await halted.fire('new', mapOf({ driver: 'master' }));
  expect(halted.offered).toEqual([]);
});

test('what was left while no event bus ran is adopted at its start', async () => {
  const { active, batches, offered } = host(stock);
  active.add(JID);
  batches.start();
  await batches.close();
  expect(offered.map(({ jid }) => jid)).toEqual([JID]);
});
