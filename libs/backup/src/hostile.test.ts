import { createHash } from 'node:crypto';
import { packTar, type TarHeader } from 'modern-tar';
import { describe, expect, test } from 'vitest';
import { BackupKey } from './backup-key.ts';
import { checkBackup } from './check-backup.ts';
import type { BackupTarget } from './edge/restore-target.ts';
import { filePart, type FileRecord } from './file-records.ts';
import { FORMAT, HEAD, MAC, MANIFEST } from './manifest.ts';
import { putBack } from './put-back.ts';

const KEY = BackupKey.parse('k'.repeat(43));
const ABOUT = { format: FORMAT, name: 'b1', release: '0.2.0', master: 'm', host: 'h', mark: '' };
const PEM: FileRecord = { root: 'pki', path: 'minions/web-1', mode: 0o644, owner: 'root' };

interface Given {
  readonly files: readonly object[];
  /** Other than those of the files. */
  readonly parts: readonly object[];
  readonly more: object;
  /** Entries between the head and the manifest; by default what the manifest says. */
  readonly entries: readonly (readonly [Partial<TarHeader>, string])[];
  /** After the manifest. */
  readonly end: readonly (readonly [string, string])[];
  readonly head: object;
  readonly key: BackupKey;
}

const partOf = (name: string, text: string): object => ({
  name,
  pieces: 1,
  bytes: Buffer.byteLength(text),
  sha256: createHash('sha256').update(text).digest('hex'),
});

/** A backup as anybody can make it who can write a tar archive. */
async function hostile(given: Partial<Given>): Promise<Buffer> {
  const { files = [], more = {}, key = KEY } = given;
  const records = files.filter((one) => one !== null);
  const names = records.map((one) => filePart(one as FileRecord));
  const parts = given.parts ?? names.map((name) => partOf(name, 'x'));
  const manifest = Buffer.from(
    JSON.stringify({
      ...ABOUT,
      files,
      parts,
      streams: [],
      readers: [],
      usedSequences: {},
      lastJid: '',
      database: { head: { tables: [] }, sequences: {} },
      ...more,
    }),
  );
  const entries = given.entries ?? names.map((name) => [{ name }, 'x'] as const);
  const end = given.end ?? [[MAC, key.macOf(manifest)]];
  const all = [
    [{ name: HEAD }, JSON.stringify({ ...ABOUT, ...given.head })] as const,
    ...entries,
    [{ name: MANIFEST }, manifest] as const,
    ...end.map(([name, text]) => [{ name }, text] as const),
  ];
  const packed = await packTar(
    all.map(([header, body]) => {
      const data = Buffer.from(body);
      return { header: { name: '', size: data.length, ...header }, body: data };
    }),
  );
  return Buffer.from(packed);
}

async function* bytesOf(bytes: Uint8Array): AsyncGenerator<Uint8Array> {
  yield await Promise.resolve(bytes);
}

const check = async (given: Partial<Given>) => checkBackup(bytesOf(await hostile(given)));

/** Notes what it is asked to put. */
function target(put: string[]): BackupTarget {
  const note = (what: string) => () => {
    put.push(what);
    return Promise.resolve();
  };
  return {
    done: new Set(),
    finished: () => Promise.resolve(),
    file: ({ path }, data) => note(`${path} ${Buffer.from(data).toString()}`)(),
    stream: async (_record, chunks) => {
      for await (const chunk of chunks) put.push(Buffer.from(chunk).toString());
    },
    values: note('values'),
    tables: () =>
      Promise.resolve({
        table: async (_table, chunks) => {
          for await (const chunk of chunks) put.push(Buffer.from(chunk).toString());
        },
        commit: note('commit'),
      }),
    useSequences: note('sequences'),
    readers: note('readers'),
  };
}

test('what is as it should be is taken, and proven by its key alone', async () => {
  const checked = await check({ files: [PEM] });
  expect(checked.isOf(KEY)).toBe(true);
  expect(checked.isOf(BackupKey.make())).toBe(false);
});

describe('a file is refused by its name', () => {
  const link = (to: string): object => ({ ...PEM, path: 'a/link', link: to });
  test.each<[string, object, string]>([
    ['an absolute path', { ...PEM, path: '/etc/cron.d/x' }, 'its path leads elsewhere'],
    ['a path that goes up', { ...PEM, path: '../../etc/x' }, 'its path leads elsewhere'],
    ['one that goes up in the middle', { ...PEM, path: 'a/../../x' }, 'its path leads elsewhere'],
    ['one that is no plain path', { ...PEM, path: 'a//b' }, 'its path leads elsewhere'],
    ['a directory', { ...PEM, path: 'a/' }, 'its path leads elsewhere'],
    ['nothing', { ...PEM, path: '' }, 'its path leads elsewhere'],
    ['NUL', { ...PEM, path: 'a\0b' }, 'files/pki/a?b may not be put: its path has characters'],
    ['a new line', { ...PEM, path: 'a\nb' }, 'files/pki/a?b may not be put: its path has'],
    ['an escape', { ...PEM, path: 'a\u009b2J' }, 'its path has characters that can not be seen'],
    ['a long path', { ...PEM, path: 'a/'.repeat(2_100) + 'b' }, 'its path is too long'],
    ['a long name', { ...PEM, path: 'a'.repeat(256) }, 'its path is too long'],
    ['setuid', { ...PEM, mode: 0o4755 }, 'its mode is 04755, and may be 0777 at most'],
    ['setgid', { ...PEM, mode: 0o2755 }, 'its mode is 02755'],
    ['sticky', { ...PEM, mode: 0o1777 }, 'its mode is 01777'],
    ['the mode of a device', { ...PEM, mode: 0o20644 }, 'its mode is 020644'],
    ['no mode', { ...PEM, mode: '0644' }, 'its mode is none'],
    ['a negative mode', { ...PEM, mode: -1 }, 'its mode is 0-1'],
    ['an odd owner', { ...PEM, owner: '0:0:0' }, 'its owner is odd'],
    ['an odd time', { ...PEM, mtimeMs: 1e300 }, 'its time is invalid'],
    ['a link upwards', link('../../x'), 'it is a link that leads elsewhere, to ../../x'],
    ['an absolute link', link('/etc/shadow'), 'it is a link that leads elsewhere, to /etc/shadow'],
    ['a link without a place', link(''), 'it is a link that leads nowhere'],
    ['a link with a new line', link('a\nb'), 'it is a link that leads nowhere'],
    ['a link of the host', { ...link('b'), root: 'host' }, 'it is a link that leads elsewhere'],
  ])('%s', async (_what, record, why) => {
    const text = 'x';
    const name = 'files/pki/x';
    const made = check({
      files: [record],
      parts: [partOf(name, text)],
      entries: [[{ name }, text]],
    });
    await expect(made).rejects.toThrow(why);
    await expect(made).rejects.toThrow(/^files\/\w+\/.* may not be put: /);
  });

  test('a place that there is not', async () => {
    await expect(check({ files: [{ ...PEM, root: 'etc' }] })).rejects.toThrow('has no place');
    await expect(check({ files: [{ root: 'pki' }] })).rejects.toThrow('has no place');
    await expect(
      check({ files: [{ ...PEM }, null as unknown as object], parts: [] }),
    ).rejects.toThrow('has no place');
  });

  test('a file below a link, and below a file', async () => {
    const link = { ...PEM, path: 'dir', link: 'minions' };
    for (const above of [link, { ...PEM, path: 'dir' }]) {
      await expect(check({ files: [above, { ...PEM, path: 'dir/a/b' }] })).rejects.toThrow(
        'files/pki/dir/a/b may not be put: dir is no directory in it',
      );
    }
  });

  test('two of one name, of which one was looked at', async () => {
    await expect(check({ files: [PEM, { ...PEM, mode: 0o600 }] })).rejects.toThrow(
      'files/pki/minions/web-1 may not be put: it is there twice',
    );
  });
});

describe('an entry is refused', () => {
  const name = 'files/pki/minions/web-1';
  test.each<NonNullable<TarHeader['type']>>([
    'link',
    'symlink',
    'character-device',
    'block-device',
    'fifo',
  ])('that is a %s', async (type) => {
    const header = { name, type, linkname: '/etc/shadow', size: 0 };
    const made = check({ files: [PEM], parts: [partOf(name, '')], entries: [[header, '']] });
    await expect(made).rejects.toThrow(`${name} is no file but a ${type}`);
  });

  test('that is too large, before its bytes are read', async () => {
    const huge = await hostile({ files: [PEM] });
    const at = huge.indexOf(name);
    // As a stranger writes it into the header: its size, and the sum of the header.
    huge.write('77777777777\0', at + 124, 'latin1');
    huge.write('        ', at + 148, 'latin1');
    const sum = huge.subarray(at, at + 512).reduce((all, one) => all + one, 0);
    huge.write(`${sum.toString(8).padStart(6, '0')}\0 `, at + 148, 'latin1');
    let given = 0;
    const endless = async function* (): AsyncGenerator<Uint8Array> {
      yield huge;
      for (; given < 32; given += 1) yield await Promise.resolve(Buffer.alloc(1024 * 1024));
    };
    await expect(checkBackup(endless())).rejects.toThrow(`${name} is too large`);
    expect(given).toBeLessThan(8);
  });

  test('that is there twice, is no part of it, or comes after the end', async () => {
    const twice = [[{ name }, 'x'] as const, [{ name }, 'y'] as const];
    await expect(check({ files: [PEM], entries: twice })).rejects.toThrow(`${name} is damaged`);
    const other = [[{ name }, 'x'] as const, [{ name: 'files/pki/more' }, 'x'] as const];
    await expect(check({ files: [PEM], entries: other })).rejects.toThrow(
      'files/pki/more does not belong to it',
    );
    const end = [['files/pki/more', 'x']] as const;
    await expect(check({ files: [PEM], end })).rejects.toThrow('more comes after its end');
    const macs = [[MAC, 'x'] as const, [MAC, 'y'] as const];
    await expect(check({ files: [PEM], end: macs })).rejects.toThrow(`${MAC} comes after its end`);
  });

  test('that a file is named by and that is not there', async () => {
    await expect(check({ files: [PEM], parts: [], entries: [] })).rejects.toThrow(
      `${name} is in its manifest and is missing`,
    );
  });

  test('whose name can not be seen', async () => {
    const entries = [[{ name: 'files/pki/a\nb' }, 'x'] as const];
    await expect(check({ files: [PEM], entries })).rejects.toThrow('a name that can not be seen');
  });
});

test.each([
  ['part', { parts: [partOf('streams/A', 'x'), partOf('streams/A', 'y')] }, 'streams/A'],
  ['stream', { streams: [{ name: 'A' }, { name: 'A' }] }, 'A'],
  ['table', { database: { head: { tables: [{ name: 'a.b' }, { name: 'a.b' }] } } }, 'a.b'],
])('a %s that is there twice', async (kind, more, name) => {
  await expect(check({ more })).rejects.toThrow(`the ${kind} ${name} is there twice`);
});

test('without a code, and with that of another manifest, it is not proven', async () => {
  expect((await check({ files: [PEM], end: [] })).isOf(KEY)).toBeUndefined();
  const other = BackupKey.make();
  expect((await check({ files: [PEM], key: other })).isOf(KEY)).toBe(false);
  const mac = KEY.macOf(Buffer.from('{}'));
  expect((await check({ files: [PEM], end: [[MAC, mac]] })).isOf(KEY)).toBe(false);
  expect((await check({ files: [PEM], end: [[MAC, '']] })).isOf(KEY)).toBe(false);
  // A format without codes is no way around.
  const old = await check({ files: [PEM], head: { format: 1 }, more: { format: 1 }, end: [] });
  expect(old.isOf(KEY)).toBeUndefined();
});

test.each(['', 'k'.repeat(42), 'k'.repeat(44), '!'.repeat(43), `${'k'.repeat(43)}\nmore`])(
  '%j is no key',
  (text) => expect(() => BackupKey.parse(text)).toThrow('it is no key of backups'),
);

describe('what changes between both readings is not put', () => {
  const files = [PEM];
  const stream = { name: 'EVENTS', messages: 1, bytes: 1, config: {}, state: {} };
  const table = { name: 'brine.jobs', columns: ['jid'] };
  const honest: Partial<Given> = {
    files,
    parts: [
      partOf('files/pki/minions/web-1', 'x'),
      partOf('streams/EVENTS', 'one'),
      partOf('tables/brine.jobs', 'row'),
    ],
    more: {
      streams: [stream],
      database: { head: { tables: [table] }, sequences: {} },
    },
  };
  const entries = (file: string, event: string, row: string): Given['entries'] => [
    [{ name: 'files/pki/minions/web-1' }, file],
    [{ name: 'streams/EVENTS/000001' }, event],
    [{ name: 'tables/brine.jobs/000001' }, row],
  ];

  async function twice(second: Given['entries']): Promise<{ error: unknown; put: string[] }> {
    const first = await hostile({ ...honest, entries: entries('x', 'one', 'row') });
    const { manifest } = await checkBackup(bytesOf(first));
    const put: string[] = [];
    const again = bytesOf(await hostile({ ...honest, entries: second }));
    const error: unknown = await putBack(again, manifest, target(put)).catch((one: unknown) => one);
    return { error, put };
  }

  test('nothing changed: all is put', async () => {
    const { error, put } = await twice(entries('x', 'one', 'row'));
    expect(error).toBeUndefined();
    expect(put).toEqual(['minions/web-1 x', 'one', 'row', 'commit', 'sequences', 'readers']);
  });

  test.each<[string, Given['entries'], string, readonly string[]]>([
    ['a file', entries('y', 'one', 'row'), 'files/pki/minions/web-1', []],
    ['a longer file', entries('xy', 'one', 'row'), 'files/pki/minions/web-1', []],
    ['a stream', entries('x', 'two', 'row'), 'streams/EVENTS', ['minions/web-1 x']],
    ['a table', entries('x', 'one', 'raw'), 'tables/brine.jobs', ['minions/web-1 x', 'one']],
    ['a file that is gone', entries('x', 'one', 'row').slice(1), 'files/pki', ['one', 'row']],
    ['a file that is new', [[{ name: 'files/pki/new' }, 'x']], 'files/pki/new', []],
    [
      'a file that comes twice',
      [...entries('x', 'one', 'row').slice(0, 2), ...entries('x', 'one', 'row').slice(0, 1)],
      'files/pki/minions/web-1',
      ['minions/web-1 x', 'one'],
    ],
  ])('%s', async (_what, second, name, wanted) => {
    const { error, put } = await twice(second);
    expect(String(error)).toContain(`the file changed while it was read: ${name}`);
    expect(put).toEqual(wanted);
  });
});

test('a backup names the reason in one line', async () => {
  const error: unknown = await check({ files: [{ ...PEM, path: '/x' }] }).catch(
    (one: unknown) => one,
  );
  expect((error as Error).name).toBe('BackupError');
  expect((error as Error).message).not.toContain('\n');
});
