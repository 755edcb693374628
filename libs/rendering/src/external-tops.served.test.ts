import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { mapOf, type SaltMap } from '@brine/wire';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { MasterTops, splitWords } from './external-tops.ts';

let dir = '';
let told: string[] = [];
beforeEach(async () => {
  dir = await mkdtemp(join(tmpdir(), 'brine-tops-'));
  told = [];
});
afterEach(() => rm(dir, { recursive: true, force: true }));

const log = (_fields: unknown, text: string): void => void told.push(text);
const noClasses = (): Promise<SaltMap> => Promise.reject(new Error('no classes'));

async function classifier(body: string): Promise<MasterTops> {
  const script = join(dir, 'classify it.sh');
  await writeFile(script, `#!/bin/sh\n${body}\n`, { mode: 0o700 });
  return new MasterTops({ ext_nodes: `sh '${script}' "an argument"` }, noClasses, log);
}

test.each([
  ['classes: [a, b]', new Map([['base', ['a', 'b']]])],
  ['environment: dev\nclasses:\n  a: {x: 1}\n  b:', new Map([['dev', ['a', 'b']]])],
  ['environment: dev', new Map()],
  ['classes: text', new Map()],
])('the output %j gives the states %o', async (yaml, states) => {
  const tops = await classifier(`cat <<'END'\n${yaml}\nEND`);
  expect(await tops.of('web1')).toEqual(states);
  expect(told).toEqual([]);
});

test('the command gets the id of the minion as its last argument, and no shell reads it', async () => {
  const tops = await classifier(
    `printf '%s,%s,%s' "$#" "$1" "$2" > "${dir}/args"; echo 'classes: []'`,
  );
  await tops.of('$(touch x);web1');
  expect(await readFile(join(dir, 'args'), 'utf8')).toBe('2,an argument,$(touch x);web1');
});

test('a classifier that fails is reported and gives no states', async () => {
  expect(await (await classifier('exit 3')).of('web1')).toEqual(new Map());
  expect(await (await classifier("echo 'a: [b'")).of('web1')).toEqual(new Map());
  expect(told).toHaveLength(2);
});

test('requests in the meantime share one run', async () => {
  const tops = await classifier(`echo x >> "${dir}/runs"; sleep 0.3; echo 'classes: [a]'`);
  await Promise.all(Array.from({ length: 5 }, () => tops.of('web1')));
  expect(await readFile(join(dir, 'runs'), 'utf8')).toBe('x\n');
});

test('without ext_nodes there are none, and other kinds are reported', async () => {
  const tops = new MasterTops({ cobbler: { path: '/x' } }, noClasses, log);
  expect(await tops.of('web1')).toEqual(new Map());
  expect(told).toEqual([
    'this kind of master_tops is not served; set brine.python to use that of Salt',
  ]);
});

test('the states of saltclass stand beside those of ext_nodes, each once', async () => {
  const asked: string[] = [];
  const read = async (path: string, minion: string): Promise<SaltMap> => {
    asked.push(`${path} ${minion}`);
    return mapOf({ base: ['b', 'c', 7], dev: ['d'] });
  };
  const command = await classifier('echo "classes: [a, b]"').then(
    () => `sh '${dir}/classify it.sh'`,
  );
  const masterTops = { ext_nodes: command, saltclass: { path: '/x' } };
  const tops = new MasterTops(masterTops, read, log);
  const states = { base: ['a', 'b', 'c'], dev: ['d'] };
  expect(await tops.of('web1')).toEqual(new Map(Object.entries(states)));
  expect(asked).toEqual(['/x web1']);
  expect(told).toEqual([]);
});

test('a saltclass tree that fails is reported and gives no states', async () => {
  expect(await new MasterTops({ saltclass: {} }, noClasses, log).of('web1')).toEqual(new Map());
  expect(told).toEqual(['saltclass failed, a minion gets no states from it']);
});

test.each([
  ['a b  c', ['a', 'b', 'c']],
  [`/x -a 'b c' "d \\"e" f\\ g ""`, ['/x', '-a', 'b c', 'd "e', 'f g', '']],
  [`a'b'"c"d`, ['abcd']],
  ['  ', []],
])('%j is split as a shell does', (line, words) => {
  expect(splitWords(line)).toEqual(words);
});

test('other kinds are asked of Python, one after the other; one that fails gives no states', async () => {
  const readTop = async (name: string, id: string): Promise<SaltMap> => {
    if (name === 'broken') throw new Error('no');
    return mapOf({ base: [`of.${name}`, id], dev: 'no list' });
  };
  const kinds = { reclass: {}, broken: {}, mine: {} };
  const tops = new MasterTops(kinds, noClasses, log, readTop);
  expect(await tops.of('web1')).toEqual(
    new Map([
      ['base', ['of.reclass', 'web1', 'of.mine']],
      ['dev', []],
    ]),
  );
  expect(told).toEqual(['broken failed, a minion gets no states from it']);
});
