// Every file and socket that a master makes, beside those of a stock master: never wider.
import { lstat, readdir } from 'node:fs/promises';
import { join } from 'node:path';
import type { SaltHome } from '@brine/testing';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type AnyMaster, brineMaster, stockMaster } from '../../interop/minions/any-master.ts';

const ACL = { publisher_acl: { nobody: ['test.*'] } };
/** What only its group and others may do; the owner may do anything anyway. */
const NOT_OWNER = 0o077;
/** Group or others may go through a directory. */
const MAY_ENTER = 0o011;

/** Some of what both make. */
const LOOKED_AT = ['cache', 'cache/.nobody_key', 'pki', 'sock', 'sock/master_event_pub.ipc'];
/** What Brine alone makes and is not for its owner alone. */
const OPEN: Readonly<Record<string, number>> = {
  // The account of PostgreSQL passes through.
  'cache/brine': 0o711,
  'cache/brine/postgres': 0o711,
  // Tools of other releases go on to their sockets.
  ...Object.fromEntries(['bare', 'prefixed', '3007'].flatMap(socketsBelow)),
  // The master's group may read them, as its logs.
  'cache/traces': 0o750,
  'cache/traces/cli.jsonl': 0o640,
};

/** As those in sock_dir itself. */
function socketsBelow(dir: string): [path: string, mode: number][] {
  return [
    [`sock/${dir}`, 0o711],
    [`sock/${dir}/master_event_pub.ipc`, 0o660],
  ];
}

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

interface Found {
  readonly mode: number;
  readonly uid: number;
  readonly gid: number;
  readonly kind: 'file' | 'dir' | 'socket' | 'link';
}

/**
 * What is below a master's directories, by its path there; jobs by one name. What lies further
 * down, in a directory that only its owner may enter, is closed by that.
 */
async function made({ pkiDir, cacheDir, sockDir }: SaltHome): Promise<Map<string, Found>> {
  const found = new Map<string, Found>();
  const look = async (path: string, at: string): Promise<void> => {
    const one = await lstat(path).catch(() => undefined);
    if (one === undefined || one.isSymbolicLink()) return; // gone meanwhile; no mode of its own
    const kind = one.isSocket() ? 'socket' : one.isDirectory() ? 'dir' : 'file';
    const { uid, gid } = one;
    const mode = one.mode & 0o7777;
    found.set(at.replace(/jobs\/.{2}(?:\/[^/]+)?/, 'jobs/JOB'), { mode, uid, gid, kind });
    // The mode of sock_dir is the operator's.
    if (kind !== 'dir' || (at !== 'sock' && (mode & MAY_ENTER) === 0)) return;
    for (const name of await readdir(path)) await look(join(path, name), join(at, name));
  };
  for (const [name, root] of Object.entries({ pki: pkiDir, cache: cacheDir, sock: sockDir })) {
    await look(root, name);
  }
  return found;
}

const octal = (mode: number): string => mode.toString(8).padStart(4, '0');

describe('with publisher_acl', () => {
  test('what a stock master makes too is as closed as there', async () => {
    const theirs = await made(stock.home);
    const wider: string[] = [];
    const shared: string[] = [];
    for (const [at, { mode, kind }] of await made(brine.home)) {
      const other = theirs.get(at);
      if (other?.kind !== kind) continue;
      shared.push(at);
      // What everybody may, the group may.
      const may = other.mode | ((other.mode & 0o007) << 3);
      if ((mode & NOT_OWNER & ~may) !== 0) {
        wider.push(`${at} ${octal(mode)}, stock ${octal(other.mode)}`);
      }
    }
    expect(wider).toEqual([]);
    // Both were really looked at.
    expect(shared).toEqual(expect.arrayContaining(LOOKED_AT));
  });

  test('what Brine alone makes is for its own user', async () => {
    const theirs = await made(stock.home);
    const open: string[] = [];
    for (const [at, { mode, kind }] of await made(brine.home)) {
      if (theirs.get(at)?.kind === kind) continue;
      if ((mode & NOT_OWNER & ~(OPEN[at] ?? 0)) !== 0) open.push(`${at} ${kind} ${octal(mode)}`);
    }
    expect(open).toEqual([]);
  });

  test("all of it is the master's user's and group's", async () => {
    const foreign = [...(await made(brine.home))].filter(
      ([, { uid, gid }]) => uid !== process.getuid?.() || gid !== process.getgid?.(),
    );
    // The key of a local user is that user's; the data of PostgreSQL are its account's.
    const others = ['cache/.nobody_key', 'cache/brine/postgres/data'];
    expect(foreign.map(([at]) => at).filter((at) => !others.includes(at))).toEqual([]);
  });
});
