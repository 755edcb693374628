import { mkdtempSync, readdirSync, readFileSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { mapOf, unpack } from '@brine/wire';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { BankFiles } from './bank-files.ts';

const GRAINS = mapOf({ id: 'web1', ipv4: ['127.0.0.1'] });
const MINE = mapOf({ 'test.ping': true });

let dir = '';
beforeEach(() => {
  dir = mkdtempSync(join(tmpdir(), 'brine-banks-'));
});
afterEach(() => rmSync(dir, { recursive: true, force: true }));

const read = (...path: readonly string[]): unknown => unpack(readFileSync(join(dir, ...path)));
const files = (): string[] =>
  readdirSync(dir, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => entry.name)
    .sort();

test('each release finds grains and mine where it looks', async () => {
  const banks = new BankFiles(dir, ['3006', '3008']);
  await banks.keep('grains', 'web1', GRAINS);
  await banks.keep('mine', 'web1', MINE);
  expect(read('grains', 'web1.p')).toEqual(GRAINS);
  expect(read('mine', 'web1.p')).toEqual(MINE);
  expect(read('minions', 'web1', 'data.p')).toEqual(mapOf({ grains: GRAINS }));
  expect(read('minions', 'web1', 'mine.p')).toEqual(MINE);
  expect(statSync(join(dir, 'grains', 'web1.p')).mode & 0o777).toBe(0o600);
});

test('only the layout of the installed release is written', async () => {
  await new BankFiles(dir, ['3008']).keep('grains', 'web1', GRAINS);
  expect(readdirSync(dir)).toEqual(['grains']);
});

test('what is there already is not written again', async () => {
  const banks = new BankFiles(dir, ['3008']);
  await banks.keep('grains', 'web1', GRAINS);
  const { ino } = statSync(join(dir, 'grains', 'web1.p'));
  await banks.keep('grains', 'web1', mapOf({ id: 'web1', ipv4: ['127.0.0.1'] }));
  expect(statSync(join(dir, 'grains', 'web1.p')).ino).toBe(ino);
  await banks.keep('grains', 'web1', mapOf({ id: 'web1' }));
  expect(read('grains', 'web1.p')).toEqual(mapOf({ id: 'web1' }));
});

test('what a minion no longer has is removed, also twice', async () => {
  const banks = new BankFiles(dir, ['3006', '3008']);
  await banks.keep('mine', 'web1', MINE);
  await banks.keep('mine', 'web1', undefined);
  await banks.keep('mine', 'web1', undefined);
  expect(files()).toEqual([]);
});
