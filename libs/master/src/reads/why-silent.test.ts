import { PrivateKey } from '@brine/crypt';
import { memoryMaster } from '@brine/testing';
import { isMap, mapIn, mapOf, type SaltMap, type SaltValue, textOf } from '@brine/wire';
import { expect, it } from 'vitest';
import { MasterUnavailableError } from '../errors.ts';
import type { MinionPresence } from '../ports/presence-port.ts';
import { whySilent } from './why-silent.ts';

const PUBLISHED = Date.UTC(2026, 10, 22, 12);
const masterKey = await PrivateKey.generate(2048);

/** What the job cache answers about a job with this target and these minions. */
const silent = (load: SaltMap, ...minions: readonly Record<string, SaltValue>[]): SaltMap =>
  mapOf({
    load,
    publishedMs: PUBLISHED,
    deadlineMs: PUBLISHED + 3_600_000,
    minions: minions.map((minion) =>
      mapOf({ targeted: true, logInsMs: [], unansweredBefore: 0, sightings: mapOf({}), ...minion }),
    ),
    next: 'after this',
  });

async function causes(
  page: SaltMap | null,
  set?: (master: ReturnType<typeof memoryMaster>) => void,
) {
  const master = memoryMaster({ masterKey, answerQuery: () => page });
  set?.(master);
  const answer = await whySilent(master.ports, mapOf({ jid: 'j' }));
  if (!isMap(answer)) return answer;
  expect(answer.get('next')).toBe('after this');
  return [...(mapIn(answer, 'minions') ?? [])].map(([id, silence]) => [
    id,
    isMap(silence) ? textOf(silence, 'cause') : undefined,
  ]);
}

const accepted = { state: 'accepted', pub: 'p', denied: [] } as const;

it('adds the key states of now to the stored evidence', async () => {
  const load = mapOf({ tgt: '*', tgt_type: 'glob' });
  const ids = ['ok', 'denied', 'waits', 'none'];
  const page = silent(load, ...ids.map((id) => ({ id, heardBeforeMs: PUBLISHED - 1 })));
  const found = await causes(page, (master) => {
    master.setKey('ok', accepted);
    master.setKey('denied', { ...accepted, denied: ['q'] });
    master.setKey('waits', { ...accepted, state: 'pending' });
  });
  expect(found).toEqual([
    ['ok', 'nothing_heard_since'],
    ['denied', 'key_denied'],
    ['waits', 'key_pending'],
    ['none', 'key_unknown'],
  ]);
  expect(await causes(null)).toBeNull();
});

it('judges targets by the grains of now, and only those that grains settle', async () => {
  const cases: [tgtType: string, tgt: string, cause: string][] = [
    ['grain', 'role:web', 'nothing_heard_since'],
    ['grain', 'role:db', 'target_no_longer_matches'],
    ['grain_pcre', 'role:d.', 'target_no_longer_matches'],
    ['compound', 'G@role:db and m*', 'target_no_longer_matches'],
    ['compound', 'G@role:db or m*', 'nothing_heard_since'],
    ['compound', 'I@role:db', 'nothing_heard_since'],
    ['pillar', 'role:db', 'nothing_heard_since'],
    ['glob', 'n*', 'nothing_heard_since'],
  ];
  for (const [tgtType, tgt, cause] of cases) {
    const load = mapOf({ tgt, tgt_type: tgtType });
    const page = silent(load, { id: 'm', heardBeforeMs: PUBLISHED - 1 });
    const found = await causes(page, (master) => {
      master.setKey('m', accepted);
      master.grains.set('m', mapOf({ id: 'm', role: 'web' }));
    });
    expect([tgtType, tgt, found]).toEqual([tgtType, tgt, [['m', cause]]]);
  }
});

it('a log-in before the publication is a word of the minion', async () => {
  const page = silent(mapOf({}), { id: 'm', logInsMs: [PUBLISHED - 5] });
  const set = (master: ReturnType<typeof memoryMaster>): void => master.setKey('m', accepted);
  expect(await causes(page, set)).toEqual([['m', 'nothing_heard_since']]);
});

it('adds what is known of their connections, and does without where no worker can tell', async () => {
  const page = silent(mapOf({}), ...['away', 'there'].map((id) => ({ id, heardBeforeMs: 1 })));
  const gone = { present: false, sinceMs: PUBLISHED - 9, goneMs: PUBLISHED - 9, address: '' };
  const counted: string[] = [];
  const judge = async (
    presence: MinionPresence['of'],
  ): Promise<readonly (string | undefined)[]> => {
    const master = memoryMaster({ masterKey, answerQuery: () => page });
    master.setKey('away', accepted);
    master.setKey('there', accepted);
    const count = (name: string): void => void counted.push(name);
    const ports = { ...master.ports, count, presence: { of: presence } as MinionPresence };
    const answer = await whySilent(ports, mapOf({ jid: 'j' }));
    const minions = isMap(answer) ? mapIn(answer, 'minions') : undefined;
    return ['away', 'there'].map((id) => {
      const silence = minions?.get(id);
      return isMap(silence) ? textOf(silence, 'cause') : undefined;
    });
  };
  const asked: (readonly string[])[] = [];
  const known = async (ids: readonly string[]) => {
    asked.push(ids);
    return new Map([['away', gone]]);
  };
  expect(await judge(known)).toEqual(['not_connected', 'nothing_heard_since']);
  expect(asked).toEqual([['away', 'there']]);
  const away = (): Promise<never> => Promise.reject(new MasterUnavailableError('no owner'));
  expect(await judge(away)).toEqual(['nothing_heard_since', 'nothing_heard_since']);
  expect(counted).toEqual(['why_without_presence']);
});
