import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { mapOf, type SaltValue } from '@brine/wire';
import { expect, onTestFinished, test } from 'vitest';
import { readFileTree } from './file-tree.ts';

const KEYTAB = Buffer.from('0502ff00fe', 'hex');

/** The files of the minion `a`, with what was asked of the renderer. */
function treeOf(options: Record<string, SaltValue>, files: Readonly<Record<string, Buffer>>) {
  const dir = mkdtempSync(join(tmpdir(), 'brine-tree-'));
  onTestFinished(() => rmSync(dir, { recursive: true, force: true }));
  mkdirSync(join(dir, 'hosts', 'a'), { recursive: true });
  for (const [name, text] of Object.entries(files)) {
    writeFileSync(join(dir, 'hosts', 'a', name), text);
  }
  const asked: unknown[] = [];
  const render = (text: string, how: unknown): SaltValue => {
    asked.push([text, how]);
    return mapOf({ made: text });
  };
  const minion = { id: 'a', grains: mapOf({}), pillarenv: null };
  const settings = {
    pillarRoots: {},
    nodegroups: {},
    pillar: mapOf({}),
    log: () => undefined,
    render,
  };
  const args = mapOf({ root_dir: dir, ...options });
  return { asked, read: () => readFileTree(minion, args, settings) };
}

test('contents are bytes, as in Salt, whatever they are', () => {
  const { read, asked } = treeOf({}, { keytab: KEYTAB, text: Buffer.from('ü\n') });
  const text = new Uint8Array(Buffer.from('ü'));
  expect(read()).toEqual(mapOf({ keytab: new Uint8Array(KEYTAB), text }));
  expect(asked).toEqual([]);
});

test('templates go through the renderers that the entry names', () => {
  const how = { pipe: 'jinja|yaml', blacklist: ['gpg'], whitelist: null };
  const options = { template: true, render_default: 'jinja|yaml', renderer_blacklist: ['gpg'] };
  const { read, asked } = treeOf(options, { text: Buffer.from('ü\n') });
  expect(read()).toEqual(mapOf({ text: mapOf({ made: 'ü' }) }));
  expect(asked).toEqual([['ü', how]]);
});

test('only true makes templates, and what is no UTF-8 is none', () => {
  const { read } = treeOf({ template: 1 }, { keytab: KEYTAB });
  expect(read()).toEqual(mapOf({ keytab: new Uint8Array(KEYTAB) }));
  expect(treeOf({ template: true }, { keytab: KEYTAB }).read).toThrow(TypeError);
});

test('node groups judge by the grains of the request and what the pillar has so far', () => {
  const dir = mkdtempSync(join(tmpdir(), 'brine-tree-'));
  onTestFinished(() => rmSync(dir, { recursive: true, force: true }));
  for (const group of ['by_pillar', 'by_grain', 'other']) {
    mkdirSync(join(dir, 'nodegroups', group), { recursive: true });
    writeFileSync(join(dir, 'nodegroups', group, group), 'x');
  }
  const settings = {
    nodegroups: { by_pillar: 'I@role:web', by_grain: 'G@os:Debian', other: 'I@role:db' },
    pillarRoots: {},
    pillar: mapOf({ role: 'web' }),
    log: () => undefined,
    render: () => null,
  };
  const minion = { id: 'a', grains: mapOf({ os: 'Debian' }), pillarenv: null };
  const tree = readFileTree(minion, mapOf({ root_dir: dir }), settings);
  expect([...tree.keys()]).toEqual(['by_grain', 'by_pillar']);
});
