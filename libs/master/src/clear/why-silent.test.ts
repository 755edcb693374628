import { PrivateKey } from '@brine/crypt';
import { memoryMaster } from '@brine/testing';
import { isMap, mapIn, mapOf, type SaltMap, type SaltValue, textOf } from '@brine/wire';
import { expect, it } from 'vitest';
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
