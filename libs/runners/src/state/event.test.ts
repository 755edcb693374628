import { mapOf, type SaltMap, type SaltValue } from '@brine/wire';
import { expect, test } from 'vitest';
import { OrchestrationWorld } from '../../test/orchestration-world.ts';
import { bindArguments } from '../arguments.ts';
import type { RunnerContext } from '../function.ts';
import { STATE_EVENT } from './event.ts';

type Events = readonly (readonly [tag: string, data: SaltMap])[];
const OWN = '20260101000000000007';

/** What `state.event` prints of events, in a master or at a command line. */
async function printed(
  asked: Readonly<Record<string, SaltValue>>,
  events: Events,
  where: 'master' | 'command' = 'command',
): Promise<string> {
  const world = new OrchestrationWorld({});
  let text = '';
  const inMaster = { ...world.context(OWN), out: (more: string) => void (text += more) };
  const { master, ...here } = inMaster;
  if (master === undefined) throw new Error('no master');
  const atCommand: RunnerContext = { ...here, listen: (onEvent) => master.listen(onEvent) };
  const context = where === 'master' ? inMaster : atCommand;
  const given = bindArguments(STATE_EVENT, { args: [], kwargs: mapOf(asked) });
  const running = STATE_EVENT.run(given, context);
  running.catch(() => undefined);
  await new Promise((resolve) => setImmediate(resolve));
  for (const [tag, data] of events) world.fire(tag, data);
  expect(await running).toEqual({ value: null });
  return text;
}

const id = mapOf({ id: 'one', n: [1, true, null] });

test('each event is a line of its tag, a tab and JSON, until the count is reached', async () => {
  const events: Events = [
    ['a/1', id],
    ['a/2', mapOf({})],
    ['a/3', id],
  ];
  expect(await printed({ count: 2 }, events)).toBe(
    'a/1\t{"id": "one", "n": [1, true, null]}\na/2\t{}\n',
  );
});

test.each([
  ['a glob', 'salt/*/new', 'salt/job/new'],
  ['a regular expression of the whole tag', 'salt/(job|run)/\\d+', 'salt/run/12'],
])('tagmatch is %s', async (_what, tagmatch, tag) => {
  const events: Events = [
    ['salt/job/12/more', id],
    ['other', id],
    [tag, mapOf({})],
  ];
  expect(await printed({ tagmatch, count: 1 }, events)).toBe(`${tag}\t{}\n`);
});

test('what is no regular expression is a glob alone', async () => {
  expect(await printed({ tagmatch: 'a/*[', count: 1 }, [['a/*[', mapOf({})]])).toBe('a/*[\t{}\n');
});

test('quiet prints nothing, pretty several lines, and bytes are base64', async () => {
  expect(await printed({ quiet: true, count: 1 }, [['a', id]])).toBe('');
  expect(await printed({ pretty: true, count: 1 }, [['a', mapOf({ b: 1 })]])).toBe(
    'a\t{\n    "b": 1\n}\n',
  );
  const bytes = mapOf({ b: [new Uint8Array([255, 0])] });
  expect(await printed({ count: 1 }, [['a', bytes]])).toBe('a\t{"b": ["/wA="]}\n');
});

test('in a master it shows no event of its own run', async () => {
  const events: Events = [
    [`salt/run/${OWN}/progress`, id],
    ['a', mapOf({})],
  ];
  expect(await printed({ count: 1 }, events, 'master')).toBe('a\t{}\n');
});

test.each<readonly [Record<string, SaltValue>, RegExp]>([
  [{}, /needs count=1 up to 10000/],
  [{ count: 10_001 }, /needs count=1 up to 10000/],
  [{ count: 1, node: 'minion' }, /shows the events of the master/],
  [{ count: 1, sock_dir: '/run' }, /name the configuration by -c/],
])('in a master %j is refused', async (asked, text) => {
  await expect(printed(asked, [], 'master')).rejects.toThrow(text);
});

test.each<readonly [SaltValue, string]>([
  ['abc', 'str'],
  ['1', 'str'],
  [null, 'NoneType'],
  [[1], 'list'],
])('a count of %j is refused before an event is shown', async (count, type) => {
  const text = `'>' not supported between instances of '${type}' and 'int'`;
  await expect(printed({ count }, [['a', id]])).rejects.toThrow(text);
});

test.each([0, 1, false, true])('a count of %j ends after the first event', async (count) => {
  const events: Events = [
    ['a', mapOf({})],
    ['b', id],
  ];
  expect(await printed({ count }, events)).toBe('a\t{}\n');
});
