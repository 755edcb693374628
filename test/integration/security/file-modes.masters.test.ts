// Every file and socket that a master makes, beside those of a stock master: never wider.
import { join } from 'node:path';
import type { SaltHome } from '@brine/testing';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { wider } from '../../../libs/operations/src/doctor/security/check-modes.ts';
import {
  EXPECTED_MODES,
  NOT_OWNER,
} from '../../../libs/operations/src/doctor/security/expected-modes.ts';
import {
  type MadeFile,
  madeFiles,
} from '../../../libs/operations/src/doctor/security/made-files.ts';
import { type AnyMaster, brineMaster, stockMaster } from '../../interop/minions/any-master.ts';

const ACL = { publisher_acl: { nobody: ['test.*'] } };
const CHOICES = { groupReadsPki: false, hasUsers: true };

/** Some of what both make. */
const LOOKED_AT = ['cache', 'cache/.nobody_key', 'pki', 'sock', 'sock/master_event_pub.ipc'];

let brine: AnyMaster;
let stock: AnyMaster;

beforeAll(async () => {
  const setup = { config: ACL, environments: ['base'], writeRoots: () => Promise.resolve() };
  [brine, stock] = await Promise.all([brineMaster(setup), stockMaster(setup)]);
  // A job and its files.
  for (const master of [brine, stock]) await master.salt(['*', 'test.ping', '-t', '1']);
}, 240_000);
afterAll(async () => {
  await Promise.all([brine?.close(), stock?.close()]);
});

/** What is below a master's directories, by its path there; jobs by one name. */
async function made(home: SaltHome): Promise<Map<string, MadeFile>> {
  const { pkiDir: pki, cacheDir: cache, sockDir: sock } = home;
  const roots = { pki, cache, sock, state: join(cache, 'brine') };
  const { files, unread, all } = await madeFiles(roots);
  expect({ unread: [...unread], all }).toEqual({ unread: [], all: true });
  return new Map(files.map((one) => [one.at.replace(/jobs\/.{2}(?:\/[^/]+)?/, 'jobs/JOB'), one]));
}

const octal = (mode: number): string => mode.toString(8).padStart(4, '0');

describe('with publisher_acl', () => {
  test('what a stock master makes too is as closed as there', async () => {
    const theirs = await made(stock.home);
    const open: string[] = [];
    const shared: string[] = [];
    for (const [at, { mode, kind }] of await made(brine.home)) {
      const other = theirs.get(at);
      // 3008 gives its second copy of a public key the mode of the private one.
      if (other?.kind !== kind || at.endsWith('.pub')) continue;
      shared.push(at);
      // What everybody may, the group may.
      const may = other.mode | ((other.mode & 0o007) << 3);
      if ((mode & NOT_OWNER & ~may) !== 0) {
        open.push(`${at} ${octal(mode)}, stock ${octal(other.mode)}`);
      }
    }
    expect(open).toEqual([]);
    // Both were really looked at.
    expect(shared).toEqual(expect.arrayContaining(LOOKED_AT));
  });

  test("all of it has the modes of the doctor's table", async () => {
    const open = wider([...(await made(brine.home)).values()], CHOICES);
    expect(open.map(({ at, kind, mode }) => `${at} ${kind} ${octal(mode)}`)).toEqual([]);
  });

  test('each entry of the table is for something that is there', async () => {
    const found = [...(await made(brine.home)).keys()];
    const idle = EXPECTED_MODES.filter(({ at }) => !found.some((path) => at.test(path)));
    // The directories of minions' keys are closed unless the group may read pki_dir.
    expect(idle.map(({ why }) => why)).toEqual(['public keys of minions']);
  });

  test("all of it is the master's user's and group's", async () => {
    const foreign = [...(await made(brine.home))].filter(
      ([, { uid, gid }]) => uid !== process.getuid?.() || gid !== process.getgid?.(),
    );
    // The key of a local user is that user's; the data of PostgreSQL are its account's.
    const others = ['cache/.nobody_key', 'state/postgres/data'];
    expect(foreign.map(([at]) => at).filter((at) => !others.includes(at))).toEqual([]);
  });
});
