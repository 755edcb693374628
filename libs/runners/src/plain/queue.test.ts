import { MasterUnavailableError } from '@brine/master';
import { isMap, listOf, mapOf, type SaltMap, type SaltValue, textOf } from '@brine/wire';
import { expect, test } from 'vitest';
import { JID, sceneOf } from '../../test/runner-master.ts';

/** A job cache with queues in memory, which loses so many answers after it did what was asked. */
function scene(lost = 0, configured: Readonly<Record<string, SaltValue>> = {}) {
  const queues = new Map<string, [json: string, sameness: string][]>();
  const done = new Map<string, SaltValue>();
  const ran: unknown[] = [];
  let left = lost;
  const acts: Record<string, (items: [string, string][], args: SaltMap) => SaltValue> = {
    put: (items, args) => {
      const given = (listOf(args, 'items') ?? []) as [string, string][];
      const isOnce = textOf(args, 'backend') === 'sqlite';
      if (isOnce && given.some(([, one]) => items.some(([, other]) => one === other))) {
        return 'exists';
      }
      items.push(...given);
      return 'stored';
    },
    remove: (items, args) => {
      const gone = new Set((listOf(args, 'items') ?? []).map((pair) => (pair as string[])[1]));
      items.splice(0, items.length, ...items.filter(([, one]) => !gone.has(one)));
      return true;
    },
    length: (items) => items.length,
    items: (items) => mapOf({ items: items.map(([json]) => json), next: null }),
    take: (items, args) => items.splice(0, Number(args.get('quantity'))).map(([json]) => json),
    names: () => [...queues.keys()].sort(),
  };
  const ask = async (query: string, args: SaltMap): Promise<SaltValue> => {
    expect(query).toBe('queue');
    const by = textOf(args, 'by') ?? '';
    const name = `${textOf(args, 'backend')}/${textOf(args, 'queue')}`;
    const items = queues.get(name) ?? [];
    queues.set(name, items);
    const answer = done.get(by) ?? acts[textOf(args, 'act') ?? '']?.(items, args) ?? null;
    done.set(by, answer);
    if (left > 0) {
      left -= 1;
      throw new MasterUnavailableError('no answer');
    }
    return answer;
  };
  const run = async (fun: string, given: unknown) => {
    if (fun === 'bad.one') throw new Error('it failed');
    ran.push([fun, given]);
    return { value: null };
  };
  const more = { jobs: { ask }, run } as never;
  return { ran, ...sceneOf([], { configured, more }) };
}

test('items come out in order, texts and maps as Salt’s table shows them', async () => {
  const { value } = scene();
  expect(await value('queue.insert', ['q', ['b', 'a', mapOf({ k: "it's", n: [1] })]])).toBe(true);
  expect(await value('queue.list_length', ['q'])).toBe(3);
  expect(await value('queue.list_items', ['q'])).toEqual(['b', 'a', "{'k': 'it's', 'n': [1]}"]);
  expect(await value('queue.pop', ['q'])).toEqual(['b']);
  expect(await value('queue.delete', ['q', ['a', 'other']])).toBe(true);
  expect(await value('queue.pop', ['q', 'all'])).toEqual(["{'k': 'it's', 'n': [1]}"]);
  expect(await value('queue.pop', ['q', 5])).toEqual([]);
});

test('the backend sqlite says that an item is there, pgjsonb takes it again', async () => {
  const { value } = scene();
  await value('queue.insert', ['q', 'a']);
  expect(await value('queue.insert', ['q', 'a'])).toBe(
    'Item already exists in this queue. sqlite error: UNIQUE constraint failed: q.name',
  );
  expect(await value('queue.insert', ['q', ['b', 'a']])).toContain('One or more items already');
  const item = mapOf({ name: 'redis' });
  for (let times = 0; times < 2; times += 1) {
    expect(await value('queue.insert', ['q', item, 'pgjsonb'])).toBe(true);
  }
  expect(await value('queue.list_items', ['q', 'pgjsonb'])).toEqual([item, item]);
  expect(await value('queue.list_queues')).toContain('sqlite/q');
});

test('an answer that is lost is asked for again, and nothing is done twice', async () => {
  const { value, run } = scene(2);
  expect(await value('queue.insert', ['q', ['a', 'b']])).toBe(true);
  expect(await value('queue.list_items', ['q'])).toEqual(['a', 'b']);
  const losing = scene(3);
  expect((await losing.run('queue.pop', ['q'])).success).toBe(false);
  expect((await run('queue.pop', ['q', 2])).value).toEqual(['a', 'b']);
});

test('a wrong number or backend is an error', async () => {
  const { run, value, fired } = scene();
  expect((await run('queue.pop', ['q', 'many'])).value).toContain(
    'Quantity must be an integer or "all".\n' +
      'Error: "invalid literal for int() with base 10: \'many\'".',
  );
  expect((await run('queue.insert', ['q', 'a', 'redis'])).value).toContain(
    'Function "redis.insert" is not available',
  );
  expect(await value('queue.process_queue', ['q', 'many'])).toBe(false);
  expect(fired.map(([tag]) => tag)).toEqual([`salt/run/${JID}/progress`]);
});

test('a processed queue fires what it held', async () => {
  const { value, fired } = scene();
  await value('queue.insert', ['q', ['a', 'b', 'c']]);
  const data = mapOf({ items: ['a', 'b'], backend: 'sqlite', queue: 'q' });
  expect(await value('queue.process_queue', ['q', 2])).toEqual(data);
  expect(fired).toEqual([['salt/queue/q/process', data]]);
});

test('queued runners run with their arguments, and one that fails stops no other', async () => {
  const configured = { runner_queue: mapOf({ queue: 'runners' }) };
  const { value, run, ran, fired } = scene(0, configured);
  const kwargs = mapOf({ data: mapOf({ foo: "it's" }) });
  expect(await value('queue.insert_runner', ['bad.one'])).toBe(true);
  expect(await value('queue.insert_runner', ['event.send', 'tag,x', kwargs])).toBe(true);
  expect((await run('queue.process_runner', [5])).value).toContain('bad.one: it failed');
  expect(ran).toEqual([['event.send', { args: ['tag', 'x'], kwargs }]]);
  expect(fired.map(([tag]) => tag)).toEqual(['salt/queue/runners/process']);
  const [, data] = fired[0] ?? [];
  expect(isMap(data) && data.get('backend')).toBe('pgjsonb');
  expect(await value('queue.process_runner')).toBe(null);
  expect((await scene().run('queue.insert_runner', ['a.b'])).value).toContain('runner_queue');
});
