import {
  chmodSync,
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
import { dirname, join } from 'node:path';
import { until } from '@brine/testing/waits';
import type { SaltMap } from '@brine/wire';
import { mapOf, unpackMap } from '@brine/wire';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { cleanOldJobs } from './clean-jobs.ts';
import { DropFileWatch, readDropFile, removeDropFile, writeDropFile } from './drop-file.ts';
import { JobFiles } from './job-files.ts';
import { jobDir } from './job-paths.ts';
import { ensureUserKey, lookupUser, readUserKey, userKeyPath } from './user-keys.ts';

let cachedir = '';
let files: JobFiles;
beforeEach(() => {
  cachedir = mkdtempSync(join(tmpdir(), 'cachedir-'));
  files = new JobFiles({ cachedir });
});
afterEach(() => rmSync(cachedir, { recursive: true, force: true }));

const KEY = `${'k'.repeat(75)}=`;
const OTHER = `${'o'.repeat(75)}=`;

interface RecordedJob {
  readonly jid: string;
  readonly dir: string;
  readonly files: Readonly<Record<string, { readonly bytes: string }>>;
}
const recorded = JSON.parse(
  readFileSync(new URL('../../../test/fixtures/vectors/jobcache.json', import.meta.url), 'utf8'),
) as { readonly jobs: Readonly<Record<string, readonly RecordedJob[]>> };
const recordedJobs = Object.entries(recorded.jobs).flatMap(([version, jobs]) =>
  jobs.map((job) => ({ version, ...job })),
);
const bytesOf = (job: RecordedJob, name: string): Buffer =>
  Buffer.from(job.files[name]?.bytes ?? '', 'base64');

describe('job files recorded from real Salt', () => {
  it.each(recordedJobs)('of $version, $jid, are read', async (job) => {
    const dir = join(cachedir, job.dir);
    for (const [name, { bytes }] of Object.entries(job.files)) {
      mkdirSync(dirname(join(dir, name)), { recursive: true });
      writeFileSync(join(dir, name), Buffer.from(bytes, 'base64'));
    }
    expect((await files.readLoad(job.jid))?.get('jid')).toBe(job.jid);
    expect((await files.readMinions(job.jid)).length).toBeGreaterThan(0);
    const returned = Object.keys(job.files).filter((name) => name.endsWith('/return.p'));
    expect(await files.readReturns(job.jid)).toHaveLength(returned.length);
    const jids: string[] = [];
    for await (const jid of files.jids()) jids.push(jid);
    expect(jids).toEqual([job.jid]);
  });

  it.each(recordedJobs)('of $version, $jid, equal those that we write', async (job) => {
    const load = unpackMap(bytesOf(job, '.load.p'));
    await files.writeJob({ jid: job.jid, load, minions: [] });
    expect(files.dir(job.jid)).toBe(join(cachedir, job.dir));
    expect(readFileSync(join(cachedir, job.dir, '.load.p'))).toEqual(bytesOf(job, '.load.p'));
    expect(readFileSync(join(cachedir, job.dir, 'jid'))).toEqual(bytesOf(job, 'jid'));
    for (const name of Object.keys(job.files).filter((one) => one.endsWith('/return.p'))) {
      const id = dirname(name);
      await files.writeReturn(job.jid, id, unpackMap(bytesOf(job, name)));
      expect(readFileSync(join(cachedir, job.dir, name))).toEqual(bytesOf(job, name));
    }
  });
});

describe('JobFiles', () => {
  const jid = '20261120171953105574';
  const value = (text: string): SaltMap => mapOf({ return: text, retcode: 0, success: true });

  it('keeps the first return of a minion', async () => {
    expect(await files.writeReturn(jid, 'm.example.com', value('first'), 'highstate')).toBe(true);
    expect(await files.writeReturn(jid, 'm.example.com', value('second'))).toBe(false);
    expect(await files.readReturns(jid)).toEqual([
      { id: 'm.example.com', value: value('first'), out: 'highstate' },
    ]);
  });

  it('takes a return of which only the directory was made', async () => {
    mkdirSync(join(files.dir(jid), 'm1'), { recursive: true });
    expect(await files.writeReturn(jid, 'm1', value('again'))).toBe(true);
    expect(await files.readReturns(jid)).toEqual([{ id: 'm1', value: value('again') }]);
    await files.writeJob({ jid, load: mapOf({ jid }), minions: [] });
    expect(await files.writeReturn(jid, 'jid', value('x'))).toBe(false);
  });

  it('removes all of a job, and nothing of others', async () => {
    const other = '20261120171953105575';
    for (const one of [jid, other]) {
      await files.writeJob({ jid: one, load: mapOf({ jid: one }), minions: ['m1'] });
      await files.writeReturn(one, 'm1', value('x'));
    }
    await files.remove(jid);
    await files.remove('20261120171953105576');
    expect([await files.has(jid), await files.has(other)]).toEqual([false, true]);
    expect(await files.readReturns(jid)).toEqual([]);
  });

  it('unites the minions of the job and of its syndics', async () => {
    await files.writeJob({ jid, load: mapOf({ jid }), minions: ['b', 'a'] });
    await files.writeSyndicMinions(jid, 'syn1', ['c', 'a']);
    expect(await files.readMinions(jid)).toEqual(['a', 'b', 'c']);
    expect(await files.has(jid)).toBe(true);
  });

  it.each(['../x', 'a/b', '', '.', '.hidden', 'a\0b'])(
    'CVE-2024-22231: refuses %j as a minion',
    async (id) => {
      const refused = { code: 'SALT_CACHEDIR_BAD_ID' };
      await expect(files.writeReturn(jid, id, value('x'))).rejects.toMatchObject(refused);
      await expect(files.writeSyndicMinions(jid, id, [])).rejects.toMatchObject(refused);
    },
  );

  it('makes a job of a return, which never takes the place of a published one', async () => {
    const born = { jid, load: mapOf({ jid, fun: 'born' }), minions: ['m1'] };
    await files.writeBornJob(born);
    await files.writeBornJob({ ...born, load: mapOf({ jid, fun: 'born later' }) });
    expect((await files.readLoad(jid))?.get('fun')).toBe('born');
    await files.writeJob({ jid, load: mapOf({ jid, fun: 'published' }), minions: ['m1', 'm2'] });
    await files.writeBornJob(born);
    expect((await files.readLoad(jid))?.get('fun')).toBe('published');
    expect(await files.readMinions(jid)).toEqual(['m1', 'm2']);
    expect(readdirSync(files.dir(jid)).sort()).toEqual(['.load.p', '.minions.p', 'jid']);
  });

  it('keeps no return of a job that is not to be cached', async () => {
    await files.writeJob({ jid, load: mapOf({ jid }), minions: [], nocache: true });
    expect(await files.writeReturn(jid, 'm1', value('x'))).toBe(false);
    expect(await files.readReturns(jid)).toEqual([]);
  });

  it('knows no job that is not there', async () => {
    expect(await files.readLoad(jid)).toBeUndefined();
    expect(await files.has(jid)).toBe(false);
    expect(await files.readReturns(jid)).toEqual([]);
  });
});

describe('cleanOldJobs', () => {
  it('removes what is older than keep_jobs_seconds, and nothing for 0', async () => {
    for (const jid of ['20261120171953105574', '20261120171953105575']) {
      await files.writeJob({ jid, load: mapOf({ jid }), minions: [] });
    }
    expect(await cleanOldJobs(files, { keepJobsSeconds: 0 })).toBe(0);
    expect(await cleanOldJobs(files, { keepJobsSeconds: 10 })).toBe(0);
    const nowMs = Date.now() + 11_000;
    expect(await cleanOldJobs(files, { keepJobsSeconds: 10, nowMs })).toBe(2);
    expect(existsSync(dirname(jobDir({ cachedir }, '20261120171953105574')))).toBe(false);
  });
});

describe('user keys', () => {
  const ensure = (known?: string) =>
    ensureUserKey({ cachedir, user: 'root', known, fresh: () => KEY });

  it('are private files of 76 characters', async () => {
    expect(await ensure()).toMatchObject({ key: KEY, fresh: true, owned: true });
    expect(statSync(userKeyPath(cachedir, 'root')).mode & 0o777).toBe(0o600);
    expect(await readUserKey(cachedir, 'root')).toBe(KEY);
  });

  it('are new when their files were removed', async () => {
    expect(await ensure(OTHER)).toMatchObject({ key: KEY, fresh: true });
    expect(await readUserKey(cachedir, 'root')).toBe(KEY);
  });

  it('stay when the master knows them, and are replaced when it does not', async () => {
    await ensure();
    expect(await ensure(KEY)).toMatchObject({ key: KEY, fresh: false });
    writeFileSync(userKeyPath(cachedir, 'root'), OTHER);
    expect(await ensure(KEY)).toMatchObject({ key: KEY });
    expect(await readUserKey(cachedir, 'root')).toBe(KEY);
  });

  it('are written again if others could read them', async () => {
    await ensure();
    chmodSync(userKeyPath(cachedir, 'root'), 0o644);
    await ensure(KEY);
    expect(statSync(userKeyPath(cachedir, 'root')).mode & 0o777).toBe(0o600);
  });

  it('that are no keys are not read', async () => {
    writeFileSync(userKeyPath(cachedir, 'root'), 'short');
    expect(await readUserKey(cachedir, 'root')).toBeUndefined();
  });

  it.each(['../root', 'a/b', '', '.x'])('do not exist for %j', (user) => {
    expect(() => userKeyPath(cachedir, user)).toThrow(/file name/);
  });

  it('belong to users that the host knows', async () => {
    expect(await lookupUser('root')).toMatchObject({ uid: 0, gid: 0, home: '/root' });
    expect(await lookupUser('no-such-user-here')).toBeUndefined();
  });
});

describe('the drop file', () => {
  it.each([
    ['of 3006: empty, 0400', '', 0o400, 'rotate'],
    ['of 3007: the id of the master', 'me_master', 0o400, 'rotate'],
    ['with the id and another mode', 'me_master\n', 0o600, 'rotate'],
    ['of somebody else', 'else', 0o644, 'foreign'],
  ] as const)('%s', async (_claim, content, mode, expected) => {
    expect(await readDropFile(cachedir, 'me_master')).toBe('none');
    writeFileSync(join(cachedir, '.dfn'), content);
    chmodSync(join(cachedir, '.dfn'), mode);
    expect(await readDropFile(cachedir, 'me_master')).toBe(expected);
    expect(await removeDropFile(cachedir)).toBe(true);
    expect(await removeDropFile(cachedir)).toBe(false);
  });

  it('is seen at once', async () => {
    let seen = 0;
    const watch = new DropFileWatch(cachedir, () => (seen += 1));
    await writeDropFile(cachedir, 'me_master');
    await until('the drop file is seen', () => expect(seen).toBeGreaterThan(0));
    expect(await readDropFile(cachedir, 'me_master')).toBe('rotate');
    watch.close();
  });
});
