import { createPublicKey } from 'node:crypto';
import {
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { type Printed, printedBy } from '../printed.fixture.ts';

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

function saltKey(...args: readonly string[]): Promise<Printed> {
  return printedBy(['-c', dir, ...args], { program: 'salt-key', answer: 'y' });
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

describe('a pair that is made', () => {
  const FINGERPRINT = /^return:\n {4}(?:[0-9a-f]{2}:){31}[0-9a-f]{2}\n$/;
  const made = (...args: string[]) => saltKey(`--gen-keys-dir=${join(dir, 'made')}`, ...args);
  const modeOf = (file: string): string => (statSync(join(dir, file)).mode & 0o777).toString(8);

  test('has as many bits as are asked for, and a private key for its owner', async () => {
    const { code, out, err } = await made('--gen-keys=x', '--keysize=4096');
    expect({ code, err }).toEqual({ code: 0, err: '' });
    expect(out).toMatch(FINGERPRINT);
    expect([modeOf('made/x.pem'), modeOf('made/x.pub')]).toEqual(['400', '644']);
    const key = createPublicKey(readFileSync(join(dir, 'made', 'x.pub')));
    expect(key.asymmetricKeyDetails?.modulusLength).toBe(4096);
  });

  test('may stand below its directory', async () => {
    expect((await made('--gen-keys=a/b')).out).toMatch(FINGERPRINT);
    expect(readdirSync(join(dir, 'made', 'a')).sort()).toEqual(['b.pem', 'b.pub']);
  });

  test.each(['../b', 'a/../../b', '/b'])('is not made above it: %s', async (name) => {
    const given = name === '/b' ? join(dir, 'b') : name;
    expect(await made(`--gen-keys=${given}`)).toEqual({
      code: 0,
      err: '',
      out: `key ${given}.pem is not a valid key path.\n`,
    });
    expect(readdirSync(dir).sort()).toEqual(['made', 'master', 'pki']);
    expect(readdirSync(join(dir, 'made'))).toEqual([]);
  });

  test('says which directory can not be made', async () => {
    writeFileSync(join(dir, 'made'), '');
    const { code, err } = await made('--gen-keys=x');
    expect(code).toBe(64);
    expect(err).toContain(
      `salt-key: error: FileExistsError: [Errno 17] File exists: '${join(dir, 'made')}'\n`,
    );
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
