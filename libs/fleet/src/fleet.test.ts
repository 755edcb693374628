import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { inOrder, TEXT_MAX } from './dictionary.ts';
import { FleetIndex } from './fleet-index.ts';
import { facetsOf, type FleetOrder, type FleetPlace, type FleetQuery, pageOf } from './page.ts';
import { type Judge, RowSight } from './row-sight.ts';
import { type Drift, DRIFTS, type FleetKey, KEYS, type SeenBy } from './rows.ts';

const GRAINS = ['os', 'saltversion'];

/** A minion in the plainest form. */
interface Known {
  key?: { state: Exclude<FleetKey, 'denied'> | undefined; hasDenied: boolean } | undefined;
  grains?: readonly string[] | undefined;
  presence?: { present: boolean; since: number } | undefined;
  seen: number;
  run?: { jid: string; at: number; hasFailed: boolean };
  test?: { jid: string; at: number; hasFailed: boolean; would: number | undefined };
}

/** The same fleet as a map that is searched, filtered and sorted whole. */
class Model {
  readonly known = new Map<string, Known>();

  change(id: string, isNew: boolean, change: (one: Known) => void): void {
    const one = this.known.get(id) ?? { seen: 0 };
    if (!isNew && !this.known.has(id)) return;
    change(one);
    const isEmpty = [one.key, one.grains, one.presence].every((part) => part === undefined);
    if (isEmpty) this.known.delete(id);
    else this.known.set(id, one);
  }
}

const ids = fc.constantFrom(
  ...Array.from({ length: 12 }, (_, at) => `m${at}`),
  '',
  'Ümit',
  '__proto__',
);
const os = fc.constantFrom('', 'Debian', 'Ubuntu', '__proto__');
const version = fc.constantFrom('', '3006.5', '3006.30', '3008.2');
const at = fc.integer({ min: 1, max: 50 });

type Act = (index: FleetIndex, model: Model) => void;

const acts: fc.Arbitrary<Act> = fc.oneof(
  fc
    .tuple(
      ids,
      fc.option(
        fc.record({
          state: fc.constantFrom<Exclude<FleetKey, 'denied'> | undefined>(
            'accepted',
            'accepted',
            'pending',
            'rejected',
            undefined,
          ),
          hasDenied: fc.boolean(),
        }),
        { nil: undefined },
      ),
    )
    .map(([id, given]): Act => (index, model) => {
      index.setKey(id, given);
      const key = given?.state === undefined && given?.hasDenied !== true ? undefined : given;
      model.change(id, key !== undefined, (one) => (one.key = key));
    }),
  fc
    .tuple(ids, fc.option(fc.tuple(os, version), { nil: undefined }), at)
    .map(([id, grains, time]): Act => (index, model) => {
      index.setGrains(id, grains, grains && time);
      model.change(id, grains !== undefined, (one) => {
        one.grains = grains;
        if (grains !== undefined) one.seen = Math.max(one.seen, time);
      });
    }),
  fc
    .tuple(ids, fc.option(fc.record({ present: fc.boolean(), since: at }), { nil: undefined }))
    .map(([id, presence]): Act => (index, model) => {
      index.setPresence(id, presence);
      model.change(id, presence !== undefined, (one) => (one.presence = presence));
    }),
  fc.tuple(ids, fc.constantFrom<SeenBy>('return', 'event'), at).map(([id, by, time]): Act => {
    return (index, model) => {
      index.seen(id, by, time);
      model.change(id, false, (one) => (one.seen = Math.max(one.seen, time)));
    };
  }),
  fc.tuple(ids, at, fc.boolean()).map(([id, time, hasFailed]): Act => (index, model) => {
    const run = { jid: String(time), at: time, hasFailed };
    index.stateRun(id, run);
    model.change(id, false, (one) => {
      if (time >= (one.run?.at ?? 0)) one.run = run;
    });
  }),
  fc
    .tuple(ids, at, fc.boolean(), fc.constantFrom(undefined, 0, 0, 3, 7))
    .map(([id, time, hasFailed, would]): Act => (index, model) => {
      const run = { jid: String(time), at: time, hasFailed, would };
      index.testRun(id, run);
      model.change(id, false, (one) => {
        if (time >= (one.test?.at ?? 0)) one.test = run;
      });
    }),
);

const orders = fc.constantFrom<FleetOrder>(
  'id',
  'key',
  'present',
  'since',
  'seen',
  'stateRun',
  'testRun',
  'would',
  { grain: 'os' },
  { grain: 'saltversion' },
);

const queries = fc.record({
  id: fc.option(fc.constantFrom('m', '1', 'm?', '*', 'm*1', 'x', '__'), { nil: undefined }),
  keys: fc.option(fc.subarray([...KEYS]), { nil: undefined }),
  present: fc.option(fc.boolean(), { nil: undefined }),
  grains: fc.subarray([
    { name: 'os', texts: ['Debian', '__proto__'] },
    { name: 'saltversion', texts: ['3006.30'] },
  ]),
  drifts: fc.option(fc.subarray([...DRIFTS]), { nil: undefined }),
  hasDenied: fc.constantFrom<true | undefined>(true, undefined, undefined),
  silentSince: fc.option(at, { nil: undefined }),
  order: orders,
  isDown: fc.boolean(),
  limit: fc.integer({ min: 1, max: 5 }),
});

/** A judge for each of these rights. */
const JUDGES: readonly (Judge | undefined)[] = [
  undefined,
  judge(true, () => false),
  judge(false, (id) => id.includes('1')),
  { ...judge(false, () => true), seesGrains: (id) => id < 'm5', seesRuns: (id) => id > 'm3' },
];

function judge(seesKeys: boolean, sees: (id: string) => boolean): Judge {
  return { seesKeys, seesMinion: sees, seesGrains: sees, seesRuns: sees };
}

/** What a reader sees of the model, as rows are shown. */
function shown(model: Model, by: Judge | undefined) {
  return [...model.known].flatMap(([id, one]) => {
    if (one.key === undefined) return [];
    const key: FleetKey = one.key.state ?? 'denied';
    const sees = by === undefined || by.seesKeys || (key === 'accepted' && by.seesMinion(id));
    if (!sees) return [];
    const grains = by?.seesGrains(id) === false ? undefined : one.grains;
    const seesRuns = by?.seesRuns(id) !== false;
    const [run, testRun] = seesRuns ? [one.run, one.test] : [undefined, undefined];
    const isAccepted = key === 'accepted';
    return [
      {
        id,
        key,
        hasDenied: one.key.hasDenied,
        present: isAccepted ? (one.presence?.present ?? false) : undefined,
        since: isAccepted ? one.presence?.since : undefined,
        seenAt: one.seen,
        grains: grains ?? ['', ''],
        stateRun: run,
        testRun,
        drift: driftOf(run, testRun),
      },
    ];
  });
}

function driftOf(run: Known['run'], tested: Known['test']): Drift {
  const isNewer = tested !== undefined && tested.at > (run?.at ?? 0);
  if (isNewer && tested.hasFailed) return 'failed';
  if (isNewer && tested.would !== undefined) return tested.would > 0 ? 'would' : 'clean';
  if (run === undefined) return 'unknown';
  return run.hasFailed ? 'failed' : 'clean';
}

type Shown = ReturnType<typeof shown>[number];

const compareIds = (a: string, b: string): number => (a === b ? 0 : a < b ? -1 : 1);

function compareBy(order: FleetOrder, a: Shown, b: Shown): number {
  if (typeof order === 'object') {
    const place = GRAINS.indexOf(order.grain);
    return inOrder(a.grains[place] ?? '', b.grains[place] ?? '');
  }
  const number = (one: Shown): number => {
    if (order === 'key') return KEYS.indexOf(one.key);
    if (order === 'present') return one.present === undefined ? -1 : Number(one.present);
    if (order === 'since') return one.key === 'accepted' ? (one.since ?? 0) : -1;
    if (order === 'seen') return one.seenAt;
    if (order === 'testRun') return one.testRun?.at ?? 0;
    if (order === 'would') return one.testRun === undefined ? 0 : (one.testRun.would ?? -1);
    return one.stateRun?.at ?? 0;
  };
  return order === 'id' ? compareIds(a.id, b.id) : number(a) - number(b);
}

function fits(one: Shown, query: FleetQuery, except?: string): boolean {
  const { id, keys, present, hasDenied, grains = [], drifts, silentSince } = query;
  const glob =
    id === undefined ? undefined : new RegExp(`^${id.replace('?', '.').replace('*', '.*')}$`, 'u');
  const isGlob = id !== undefined && /[*?]/.test(id);
  return (
    (id === undefined || (isGlob ? glob?.test(one.id) === true : one.id.includes(id))) &&
    (except === 'key' || keys === undefined || keys.includes(one.key)) &&
    (except === 'present' || present === undefined || one.present === present) &&
    (except === 'drift' || drifts === undefined || drifts.includes(one.drift)) &&
    (hasDenied === undefined || one.hasDenied) &&
    (silentSince === undefined || one.seenAt < silentSince) &&
    grains.every(
      ({ name, texts }) =>
        except === name || texts.includes(one.grains[GRAINS.indexOf(name)] ?? ''),
    )
  );
}

function facetsOfModel(all: readonly Shown[], query: FleetQuery) {
  const of = (except: string): readonly Shown[] => all.filter((one) => fits(one, query, except));
  return {
    key: Object.fromEntries(
      KEYS.map((key) => [key, of('key').filter((one) => one.key === key).length]),
    ),
    present: {
      yes: of('present').filter(({ present }) => present === true).length,
      no: of('present').filter(({ present }) => present === false).length,
    },
    drift: Object.fromEntries(
      DRIFTS.map((drift) => [drift, of('drift').filter((one) => one.drift === drift).length]),
    ),
    grains: GRAINS.map((name, place) => {
      const counts = new Map<string, number>();
      for (const { grains } of of(name)) {
        const text = grains[place] ?? '';
        if (text !== '') counts.set(text, (counts.get(text) ?? 0) + 1);
      }
      const values = [...counts]
        .map(([value, count]) => ({ value, count }))
        .sort((a, b) => b.count - a.count || inOrder(a.value, b.value));
      return { name, values, others: 0 };
    }),
  };
}

/** All pages of a query, and the facets and total of the first one. */
function allPages(index: FleetIndex, sight: RowSight, query: FleetQuery) {
  const rows = [];
  const first = pageOf(index, sight, { ...query, withFacets: true });
  let next: FleetPlace | undefined;
  for (let page = first; ; page = pageOf(index, sight, { ...query, after: next })) {
    expect(page.total).toBe(first.total);
    expect(page.rows.length).toBeLessThanOrEqual(query.limit);
    rows.push(...page.rows);
    next = page.next;
    if (next === undefined) return { rows, total: first.total, facets: first.facets };
  }
}

test('pages, totals and facets are those of a list that is filtered and sorted whole', () => {
  fc.assert(
    fc.property(
      fc.array(acts, { maxLength: 60, size: 'max' }),
      fc.array(queries, { minLength: 1, maxLength: 4, size: 'max' }),
      (all, asked) => {
        const index = new FleetIndex(GRAINS);
        const model = new Model();
        const sights = JUDGES.map((by) => ({ by, sight: new RowSight(index, by) }));
        const half = all.length >> 1;
        all.forEach((act, place) => {
          act(index, model);
          // A sight that has judged rows keeps up with what comes and goes.
          if (place === half) for (const { sight } of sights) pageOf(index, sight, { limit: 1 });
        });
        for (const query of asked) {
          for (const { by, sight } of sights) {
            const whole = shown(model, by);
            const sign = query.isDown ? -1 : 1;
            const expected = whole
              .filter((one) => fits(one, query))
              .sort((a, b) => {
                const order = sign * compareBy(query.order, a, b);
                const byId = query.order === 'id' ? 0 : compareIds(a.id, b.id);
                return order || byId;
              });
            const found = allPages(index, sight, query);
            expect(found.total).toBe(expected.length);
            expect(found.rows.map(({ id }) => id)).toEqual(expected.map(({ id }) => id));
            expect(
              found.rows.map(({ seen, ...row }) => ({ ...row, seenAt: seen?.at ?? 0 })),
            ).toEqual(expected);
            const window = pageOf(index, sight, { ...query, first: 2 });
            const inWindow = expected.slice(2, 2 + query.limit);
            expect(window.rows.map(({ id }) => id)).toEqual(inWindow.map(({ id }) => id));
            expect(window.next === undefined).toBe(expected.length <= 2 + query.limit);
            expect(found.facets).toEqual(facetsOfModel(whole, query));
            expect(facetsOf(index, sight)).toEqual({
              total: whole.length,
              facets: facetsOfModel(whole, { limit: 1 }),
            });
          }
        }
      },
    ),
    { numRuns: 500 },
  );
});

describe('a fleet', () => {
  const everything = (index: FleetIndex): RowSight => new RowSight(index, undefined);

  function accepted(index: FleetIndex, id: string, ...grains: readonly string[]): void {
    index.setKey(id, { state: 'accepted', hasDenied: false });
    index.setGrains(id, grains);
  }

  test('is ordered by releases as numbers, and resumes where a release is gone', () => {
    const index = new FleetIndex(['saltversion']);
    ['3006.30', '3006.5', '3008.2', '3006.9'].forEach((release, at) =>
      accepted(index, `m${at}`, release),
    );
    const query = { order: { grain: 'saltversion' }, limit: 2 };
    const first = pageOf(index, everything(index), query);
    expect(first.rows.map(({ grains }) => grains[0])).toEqual(['3006.5', '3006.9']);
    accepted(index, 'm3', '3008.3');
    const second = pageOf(index, everything(index), { ...query, after: first.next });
    expect(second.rows.map(({ grains }) => grains[0])).toEqual(['3006.30', '3008.2']);
  });

  test('keeps a long grain shortened, and a letter of two halves whole', () => {
    const index = new FleetIndex(['os']);
    const long = `${'x'.repeat(TEXT_MAX - 1)}😀`;
    accepted(index, 'm', long);
    const { rows } = pageOf(index, everything(index), { limit: 1 });
    expect(rows[0]?.grains).toEqual(['x'.repeat(TEXT_MAX - 1)]);
    const found = pageOf(index, everything(index), {
      grains: [{ name: 'os', texts: [long] }],
      limit: 1,
    });
    expect(found.total).toBe(1);
  });

  test('keeps 10,000 texts of a grain, counts the rest, and has room again', () => {
    const index = new FleetIndex(['os']);
    for (let at = 0; at < 10_003; at += 1) accepted(index, `m${at}`, `os ${at}`);
    expect(index.refusedTexts).toBe(3);
    const { facets } = pageOf(index, everything(index), { limit: 1, withFacets: true });
    expect(facets?.grains[0]?.values).toHaveLength(50);
    expect(facets?.grains[0]?.others).toBe(9_950);
    index.setGrains('m0', undefined);
    accepted(index, 'm10002', 'new');
    expect(index.refusedTexts).toBe(3);
  });

  test('has no grain of another name', () => {
    const index = new FleetIndex(['os']);
    const grains = [{ name: 'secret', texts: ['x'] }];
    expect(() => pageOf(index, everything(index), { grains, limit: 1 })).toThrow(RangeError);
  });

  test('is judged in slices, and a minion once', async () => {
    const index = new FleetIndex([]);
    const asked: string[] = [];
    for (let at = 0; at < 5_000; at += 1) accepted(index, `m${at}`);
    const sight = new RowSight(index, {
      ...judge(false, (id) => id.endsWith('7')),
      seesMinion: (id) => (asked.push(id), id.endsWith('7')),
    });
    let turns = 0;
    const turn = (): void => void (turns += 1);
    const timer = setInterval(turn, 0);
    setImmediate(turn);
    await sight.prepare();
    clearInterval(timer);
    expect(turns).toBeGreaterThan(0);
    expect(pageOf(index, sight, { limit: 1 }).total).toBe(500);
    expect(pageOf(index, sight, { limit: 1 }).total).toBe(500);
    expect(asked).toHaveLength(5_000);
    index.setKey('m7', undefined);
    index.setGrains('m7', undefined);
    accepted(index, 'm8x');
    expect(pageOf(index, sight, { limit: 1 }).total).toBe(499);
  });
});
