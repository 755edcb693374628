import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { mapOf, unpackMap } from '@brine/wire';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { BankFiles } from './bank-files.ts';

const TIME = Date.UTC(2026, 10, 26, 3, 4, 5);
const GRAINS = mapOf({ os: 'Debian', raw: Buffer.from([0xff]) });
const PILLAR = mapOf({ secret: 'x' });

let cachedir = '';
beforeEach(() => {
  cachedir = mkdtempSync(join(tmpdir(), 'banks-'));
});
afterEach(() => rmSync(cachedir, { recursive: true, force: true }));

const read = (...names: string[]) => unpackMap(readFileSync(join(cachedir, ...names)));
const modeOf = (...names: string[]): number => statSync(join(cachedir, ...names)).mode & 0o777;
const given = { timeMs: TIME };
const tens = Array.from({ length: 10 }, (_, n) => n);

test('3008 has a bank for each kind, and a key for each minion and environment', async () => {
  const files = new BankFiles({ cachedir, layout: '3008', pillarEnvs: ['dev'] });
  await files.write('grains', 'web1.example', GRAINS, given);
  await files.write('pillar', 'web1.example', PILLAR, given);
  await files.write('pillar', 'web1.example', mapOf({ dev: 1 }), { ...given, env: 'dev' });
  await files.write('mine', 'web1.example', mapOf({ f: [1] }), given);
  expect(read('grains', 'web1.example.p')).toEqual(GRAINS);
  expect(read('pillar', 'web1.example.p')).toEqual(PILLAR);
  expect(readdirSync(join(cachedir, 'pillar')).sort()).toEqual([
    'web1.example.p',
    'web1.example:dev.p',
  ]);
  expect(read('mine', 'web1.example.p')).toEqual(mapOf({ f: [1] }));
  expect(modeOf('pillar', 'web1.example.p')).toBe(0o600);
  expect(statSync(join(cachedir, 'grains', 'web1.example.p')).mtimeMs).toBe(TIME);
  await files.write('grains', 'web1.example', undefined, given);
  expect(readdirSync(join(cachedir, 'grains'))).toEqual([]);
});

test('grains, pillars and mine of a minion go with its key', async () => {
  const files = new BankFiles({ cachedir, layout: '3008', pillarEnvs: ['dev'] });
  for (const id of ['a', 'b']) {
    await files.write('grains', id, GRAINS, given);
    await files.write('pillar', id, PILLAR, given);
    await files.write('pillar', id, PILLAR, { ...given, env: 'dev' });
    await files.write('mine', id, GRAINS, given);
  }
  await files.remove('a');
  await files.remove('nobody');
  expect(readdirSync(join(cachedir, 'grains'))).toEqual(['b.p']);
  expect(readdirSync(join(cachedir, 'pillar')).sort()).toEqual(['b.p', 'b:dev.p']);
  expect(readdirSync(join(cachedir, 'mine'))).toEqual(['b.p']);
});

test('3006 has a directory for each minion, with grains and pillar in one file', async () => {
  const files = new BankFiles({ cachedir, layout: '3006' });
  await files.writeData('web1', { grains: GRAINS, pillar: PILLAR }, TIME);
  await files.write('mine', 'web1', mapOf({ f: 1 }), given);
  expect(read('minions', 'web1', 'data.p')).toEqual(mapOf({ grains: GRAINS, pillar: PILLAR }));
  expect(read('minions', 'web1', 'mine.p')).toEqual(mapOf({ f: 1 }));
  expect(modeOf('minions', 'web1', 'data.p')).toBe(0o600);
  await files.writeData('web1', { grains: GRAINS, pillar: undefined }, TIME);
  expect(read('minions', 'web1', 'data.p')).toEqual(mapOf({ grains: GRAINS }));
  await files.writeData('web1', { grains: undefined, pillar: undefined }, TIME);
  expect(readdirSync(join(cachedir, 'minions', 'web1'))).toEqual(['mine.p']);
  await files.write('mine', 'web1', undefined, given);
  expect(existsSync(join(cachedir, 'minions', 'web1'))).toBe(false);
  await files.write('mine', 'web1', mapOf({ f: 1 }), given);
  await files.remove('web1');
  expect(existsSync(join(cachedir, 'minions', 'web1'))).toBe(false);
});

test('a bank never holds a name that is no minion, also not for a moment', async () => {
  const files = new BankFiles({ cachedir, layout: '3008' });
  const seen = new Set<string>();
  const writing = (async () => {
    for (let n = 0; n < 50; n += 1) await files.write('grains', `m${n % 5}`, GRAINS, given);
  })();
  let isWriting = true;
  void writing.finally(() => (isWriting = false));
  while (isWriting) {
    const dir = join(cachedir, 'grains');
    if (existsSync(dir)) for (const name of readdirSync(dir)) seen.add(name);
    await new Promise((resolve) => setImmediate(resolve));
  }
  await writing;
  expect([...seen].sort()).toEqual(['m0.p', 'm1.p', 'm2.p', 'm3.p', 'm4.p']);
  expect(readdirSync(join(cachedir, '.brine-drafts'))).toEqual([]);
});

test('what is written at once at a start is all there, and old drafts go', async () => {
  for (let start = 0; start < 30; start += 1) {
    const dir = join(cachedir, String(start));
    mkdirSync(join(dir, '.brine-drafts'), { recursive: true });
    for (const n of tens) writeFileSync(join(dir, '.brine-drafts', `old${n}`), 'x');
    const files = new BankFiles({ cachedir: dir, layout: '3008' });
    const write = async (n: number): Promise<void> => {
      // Each begins a little later than the one before.
      for (let turn = 0; turn < n; turn += 1) await new Promise((next) => void setImmediate(next));
      await files.write('grains', `m${n}`, GRAINS, given);
    };
    await Promise.all(tens.map(write));
    expect(readdirSync(join(dir, 'grains'))).toHaveLength(tens.length);
    expect(readdirSync(join(dir, '.brine-drafts'))).toEqual([]);
  }
});

test.each(['../x', 'a/b', '.hidden', '', 'x'.repeat(300), 'a\0b'])(
  'the id %j never becomes a path',
  async (id) => {
    for (const layout of ['3006', '3008'] as const) {
      const files = new BankFiles({ cachedir, layout });
      const wrong = { code: 'SALT_CACHEDIR_BAD_ID' };
      await expect(files.write('mine', id, GRAINS, given)).rejects.toMatchObject(wrong);
      await expect(files.remove(id)).rejects.toMatchObject(wrong);
    }
    expect(readdirSync(cachedir)).toEqual([]);
  },
);
