import { mkdirSync, mkdtempSync, readdirSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { runCommandLine } from '../command-line.ts';
import type { Terminal } from '../terminal.ts';

const SHELVES = ['minions', 'minions_pre', 'minions_rejected', 'minions_denied'];

let dir = '';
beforeEach(() => {
  dir = mkdtempSync(join(tmpdir(), 'brine-key-'));
  writeFileSync(join(dir, 'master'), `root_dir: ${dir}\npki_dir: ${join(dir, 'pki')}\n`);
  for (const shelf of SHELVES) {
    mkdirSync(join(dir, 'pki', shelf), { recursive: true });
    writeFileSync(join(dir, 'pki', shelf, `a-${shelf}`), 'key');
  }
});
afterEach(() => rmSync(dir, { recursive: true, force: true }));

const files = (): string[] => SHELVES.flatMap((shelf) => readdirSync(join(dir, 'pki', shelf)));

async function saltKey(...args: string[]): Promise<{ code: number; out: string; err: string }> {
  const said = { out: '', err: '' };
  const terminal: Terminal = {
    out: (text) => void (said.out += text),
    err: (text) => void (said.err += text),
    isTerminal: false,
    ownsSignals: false,
    ask: (question) => {
      said.out += question;
      return Promise.resolve('y');
    },
    askSecret: () => Promise.resolve(undefined),
    readInput: () => Promise.resolve(''),
  };
  const code = await runCommandLine('salt-key', ['-c', dir, ...args], terminal);
  return { code, ...said };
}

describe('a verb for all keys takes no id', () => {
  const DELETE = 'Error: Delete all takes no arguments. Use -d to delete specified keys\n';
  const ACCEPT = 'Error: Accept all takes no arguments. Use -a to accept specified keys\n';
  const REJECT = 'Error: Reject all takes no arguments. Use -r to reject specified keys\n';
  test.each([
    [['-D', 'junk'], DELETE],
    [['junk', '-D'], DELETE],
    [['-y', '-D', 'junk'], DELETE],
    [['-yD', 'junk'], DELETE],
    [['--delete-all', 'junk'], DELETE],
    [['--delete-al', 'junk', 'more'], DELETE],
    [['-D', ''], DELETE],
    [['-D', '*'], DELETE],
    [['-y', '-D', '--', '-x'], DELETE],
    [['-A', 'junk'], ACCEPT],
    [['-y', '--accept-all', 'junk'], ACCEPT],
    [['-R', 'junk'], REJECT],
    [['-y', '--reject-all', '--include-accepted', 'junk'], REJECT],
  ])('%j', async (args, text) => {
    const before = files();
    expect(await saltKey(...args)).toEqual({ code: 64, out: '', err: text });
    expect(files()).toEqual(before);
  });

  test.each(['--delete-all=junk', '--accept-all=junk', '--reject-all='])('%s', async (word) => {
    const { code, err } = await saltKey('-y', word);
    expect(code).toBe(64);
    expect(err).toContain('option does not take a value');
    expect(files()).toHaveLength(4);
  });

  test('without an id it acts on all keys', async () => {
    expect((await saltKey('-y', '-D')).code).toBe(0);
    expect(files()).toEqual([]);
  });
});

test('a file that is no key is not listed, not printed and not deleted', async () => {
  const shelf = join(dir, 'pki', 'minions');
  mkdirSync(join(shelf, 'backup'));
  writeFileSync(join(shelf, 'backup', 'web1'), 'key');
  symlinkSync(join(dir, 'master'), join(shelf, 'linked'));
  for (const name of ['.x', '.web1.swp', '*', 'a,b', '-rf'])
    writeFileSync(join(shelf, name), 'key');
  for (const args of [['-L'], ['-l', 'acc'], ['-P'], ['-F']]) {
    const { code, out } = await saltKey(...args);
    expect(code, args.join()).toBe(0);
    expect(out).toContain('a-minions');
    expect(out).not.toMatch(/backup|linked|\.x|swp|\*|a,b|-rf/);
  }
  await saltKey('-y', '-D');
  expect(readdirSync(shelf).sort()).toEqual(
    ['*', '-rf', '.web1.swp', '.x', 'a,b', 'backup', 'linked'].sort(),
  );
});
