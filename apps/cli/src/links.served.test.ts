import { execFileSync } from 'node:child_process';
import {
  chmodSync,
  chownSync,
  cpSync,
  existsSync,
  lchownSync,
  lstatSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join, relative } from 'node:path';
import { gunzipSync } from 'node:zlib';
import { JobFiles } from '@brine/cachedir';
import { JobCache } from '@brine/job-cache';
import { loadOrCreateMasterKeys } from '@brine/pki';
import {
  isRoot,
  letPass,
  makeDatabase,
  NOBODY,
  startNats,
  type TestDatabase,
  type TestNats,
} from '@brine/testing';
import { mapOf, pack } from '@brine/wire';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { type Printed, printedBy } from './printed.fixture.ts';

/*
 * Root's commands in directories of an account that is not root, with something planted at every
 * level of every one of them: a link to what is root's alone, and a pipe that never says anything.
 */

const SECRET = 'known-to-root-alone';
const JID = '20241125120000000001';
const TOKEN = 'ab'.repeat(32);
const KEY = `${'k'.repeat(75)}=`;
const TOPS = ['pki', 'cache', 'lists', 'run'];

let dir: string;
let nats: TestNats;
let database: TestDatabase;
/** Trees as they are before anything is planted: of a stock master, and of Brine. */
let models: { readonly stock: string; readonly ours: string };
let at: string;

beforeAll(async () => {
  if (!isRoot) return;
  dir = mkdtempSync(join(tmpdir(), 'links-'));
  letPass(dir);
  nats = await startNats();
  database = await makeDatabase();
  await (await JobCache.connect(database.url)).close();
  models = { stock: await stockModel(), ours: await oursModel() };
  // What Brine then has for a stock master.
  at = join(dir, 'at');
  mkdirSync(at);
  scene({ name: 'migrate' });
  const words = ['migrate', 'from-stock', '--stock', join(at, 'stock'), '-c', join(at, 'ours')];
  expect(await printedBy(words)).toMatchObject({ code: 0, err: '' });
  rmSync(at, { recursive: true });
});
afterAll(async () => {
  if (!isRoot) return;
  await nats.close();
  await database.drop();
  rmSync(dir, { recursive: true, force: true });
});
beforeEach((context) => {
  if (!isRoot) context.skip('only root works as others');
  at = join(dir, 'at');
  mkdirSync(at);
});
afterEach(() => {
  if (!isRoot) return;
  expect(process.geteuid?.()).toBe(0);
  rmSync(at, { recursive: true, force: true });
});

function put(path: string, content: string | Uint8Array): void {
  mkdirSync(dirname(path), { recursive: true });
  writeFileSync(path, content);
}

async function stockModel(): Promise<string> {
  const home = join(dir, 'stock-model');
  await loadOrCreateMasterKeys(join(home, 'pki'));
  put(join(home, 'pki/minions/web-1'), 'a key\n');
  put(join(home, 'pki/minions_pre/new-1'), 'a new key\n');
  put(join(home, 'pki/minions_autosign/stub-1'), '');
  const both = mapOf({ grains: mapOf({ os: 'Debian' }), pillar: mapOf({ role: 'web' }) });
  put(join(home, 'cache/minions/web-1/data.p'), pack(both, 'bin'));
  put(join(home, 'cache/minions/web-1/mine.p'), pack(mapOf({ 'test.ping': true }), 'bin'));
  put(join(home, 'cache/grains/web-2.p'), pack(mapOf({ os: 'Debian' }), 'bin'));
  const token = mapOf({ name: 'fred', eauth: 'pam', start: 5, expire: 4e9, token: TOKEN });
  put(join(home, 'cache/tokens', TOKEN), pack(token, 'bin'));
  put(join(home, 'cache/sessions/web-1'), KEY);
  put(join(home, 'cache/.root_key'), KEY);
  put(join(home, 'cache/.dfn'), '');
  const files = new JobFiles({ cachedir: join(home, 'cache') });
  const load = mapOf({ fun: 'test.ping', arg: [], tgt: '*', tgt_type: 'glob', user: 'root' });
  await files.writeJob({ jid: JID, load, minions: ['web-1'] });
  await files.writeReturn(JID, 'web-1', mapOf({ return: true, retcode: 0, success: true }), 'x');
  put(join(home, 'lists/autosign'), 'web-*\n');
  put(join(home, 'run/pid'), '1\n');
  return home;
}

async function oursModel(): Promise<string> {
  const home = join(dir, 'ours-model');
  await loadOrCreateMasterKeys(join(home, 'pki'));
  cpSync(join(dir, 'stock-model/pki/master.pem'), join(home, 'pki/master.pem'));
  cpSync(join(dir, 'stock-model/pki/master.pub'), join(home, 'pki/master.pub'));
  for (const name of readdirSync(join(home, 'pki'))) {
    if (/^(?!master).*\.(?:pem|pub)$/.test(name)) rmSync(join(home, 'pki', name));
  }
  put(join(home, 'pki/minions/web-1'), 'a key\n');
  put(join(home, 'pki/minions_pre/new-1'), 'a new key\n');
  put(
    join(home, 'pki/.brine-keys.alarm'),
    JSON.stringify({ since: 1, vanished: 9, limit: 5, ids: [] }),
  );
  put(join(home, 'pki/.brine-keys'), '{"brineKeys":1}\n');
  put(join(home, 'pki/backup.key'), `${'k'.repeat(43)}\n`);
  put(join(home, 'cache/.root_key'), KEY);
  put(join(home, 'cache/brine/services.json'), JSON.stringify({ pid: 1, services: [] }));
  put(join(home, 'lists/autosign'), 'web-*\n');
  mkdirSync(join(home, 'run'));
  mkdirSync(join(home, 'pki/services/authority'), { recursive: true });
  mkdirSync(join(home, 'pki/services/nats'));
  return home;
}

/** Gives all below a place to one user; no other may look at what is root's. */
function own(path: string, uid: number): void {
  const found = lstatSync(path);
  lchownSync(path, uid, uid);
  if (!found.isDirectory()) return void (uid === 0 && chmodSync(path, 0o600));
  chmodSync(path, 0o700);
  for (const name of readdirSync(path)) own(join(path, name), uid);
}

/** A configuration of root's, and below it the directories of the account. */
function home(name: 'stock' | 'ours', model: string, url = nats.urls['event-bus']): string {
  const place = join(at, name);
  cpSync(model, place, { recursive: true });
  for (const top of TOPS) own(join(place, top), NOBODY);
  const brine = { nats: { url }, postgres: { url: database.url } };
  const lines = [
    `pki_dir: ${place}/pki\ncachedir: ${place}/cache\nsock_dir: ${place}/run\n`,
    `pidfile: ${place}/run/pid\nautosign_file: ${place}/lists/autosign\nuser: nobody\n`,
    name === 'stock' ? '' : `brine: ${JSON.stringify(brine)}\n`,
  ];
  writeFileSync(join(place, 'master'), lines.join(''));
  letPass(place);
  return place;
}

/** All below the directories of the account, but for those themselves, which stand in root's. */
function levelsOf({ where, levels = /./ }: Pick<Command, 'where' | 'levels'>): string[] {
  const model = models[where];
  const found: string[] = [];
  const walk = (path: string): void => {
    for (const name of readdirSync(path)) {
      const one = join(path, name);
      found.push(relative(model, one));
      if (lstatSync(one).isDirectory()) walk(one);
    }
  };
  for (const top of TOPS) walk(join(model, top));
  return found.filter((level) => levels.test(level)).sort();
}

/** Puts a link to what is root's in the place of a path; gives what it leads to. */
function plantLink(place: string, level: string): string {
  const [path, witness] = [join(place, level), join(at, 'of-root')];
  cpSync(path, witness, { recursive: true });
  if (lstatSync(witness).isDirectory()) writeFileSync(join(witness, 'secret'), SECRET);
  else if (!level.endsWith('.p')) writeFileSync(witness, SECRET);
  own(witness, 0);
  rmSync(path, { recursive: true });
  symlinkSync(witness, path);
  lchownSync(path, NOBODY, NOBODY);
  return witness;
}

/** What can be seen of files that changed, or were given away, or got another name. */
function stateOf(path: string): unknown {
  const { mode, uid, gid, size, nlink, mtimeMs, ctimeMs } = lstatSync(path);
  const isDirectory = lstatSync(path).isDirectory();
  const below = isDirectory
    ? readdirSync(path).map((name) => [name, stateOf(join(path, name))])
    : [];
  const text = isDirectory ? '' : readFileSync(path, 'latin1');
  return { mode, uid, gid, size, nlink, mtimeMs, ctimeMs, text, below };
}

function holdsSecret(path: string): string[] {
  const found = lstatSync(path);
  if (found.isSymbolicLink() || path === join(at, 'of-root')) return [];
  if (found.isDirectory())
    return readdirSync(path).flatMap((name) => holdsSecret(join(path, name)));
  if (!found.isFile()) return [];
  const bytes = readFileSync(path);
  const text = path.endsWith('.gz') ? gunzipSync(bytes) : bytes;
  return text.includes(SECRET) ? [path] : [];
}

interface Command {
  readonly name: string;
  /** Whose levels something is planted at. */
  readonly where: 'stock' | 'ours';
  readonly words: () => string[];
  /** Those that it looks at, where that takes long. */
  readonly levels?: RegExp;
}

const ours = (...words: string[]) => ({
  name: words.join(' '),
  where: 'ours' as const,
  words: () => [...words, '-c', join(at, 'ours')],
});
const migrate = (where: 'stock' | 'ours', way: string, ...more: string[]): Command => ({
  name: `migrate ${way} ${more.join(' ')}, in the directories of ${where}`,
  where,
  words: () => ['migrate', way, '--stock', join(at, 'stock'), '-c', join(at, 'ours'), ...more],
});

const COMMANDS: readonly Command[] = [
  ours('key', '-L'),
  ours('key', '-P'),
  ours('key', '-F'),
  ours('key', '-y', '-A'),
  ours('key', '-y', '-R', '--include-all'),
  ours('key', '-y', '-D'),
  ours('key', 'sync', '--confirm'),
  { ...ours('key', '--gen-signature', '--auto-create'), levels: /^pki\/(?:master|minions$)/ },
  { ...ours('pki', 'init'), levels: /^pki\/services/ },
  ours('restart'),
  ours('status'),
  {
    name: 'backup',
    where: 'ours',
    words: () => ['backup', join(at, 'b.gz'), '-c', join(at, 'ours')],
  },
  migrate('stock', 'from-stock', '--dry-run'),
  migrate('stock', 'from-stock'),
  migrate('ours', 'from-stock'),
  migrate('stock', 'to-stock', '--release', '3006.26'),
  migrate('stock', 'to-stock', '--release', '3008.2'),
  migrate('ours', 'to-stock', '--release', '3008.2'),
];

async function run({ words }: Command): Promise<Printed> {
  const ended = printedBy(words());
  const late = new Promise<never>((_resolve, reject) =>
    setTimeout(() => reject(new Error('it does not end')), 30_000).unref(),
  );
  return Promise.race([ended, late]);
}

function scene({ name }: Pick<Command, 'name'>): void {
  home('stock', models.stock);
  home('ours', models.ours, name === 'backup' ? nats.urls.admin : undefined);
}

describe('root follows nothing of the account', () => {
  test.each(COMMANDS)('$name: links', { timeout: 600_000 }, async (command) => {
    for (const level of levelsOf(command)) {
      scene(command);
      const witness = plantLink(join(at, command.where), level);
      const before = stateOf(witness);
      const said = await run(command);
      const told = `${level}: ${said.code} ${said.out} ${said.err}`;
      expect(stateOf(witness), told).toEqual(before);
      expect(told).not.toContain(SECRET);
      expect(holdsSecret(at), told).toEqual([]);
      // A refusal names what it is about.
      const isNamed = /at\/(?:ours|stock)\/|no master|does not run/.test(said.err + said.out);
      expect(said.code === 0 || isNamed, told).toBe(true);
      rmSync(at, { recursive: true });
      mkdirSync(at);
    }
  });

  test.each(COMMANDS)('$name: pipes', { timeout: 600_000 }, async (command) => {
    for (const level of levelsOf(command)) {
      scene(command);
      const path = join(at, command.where, level);
      if (lstatSync(path).isDirectory()) continue;
      rmSync(path);
      execFileSync('mkfifo', [path]);
      chownSync(path, NOBODY, NOBODY);
      // It ends, whatever it says of it.
      expect(await run(command), level).toMatchObject({ code: expect.any(Number) as number });
      rmSync(at, { recursive: true });
      mkdirSync(at);
    }
  });

  test.each(COMMANDS)('$name: nothing planted', async (command) => {
    scene(command);
    const said = await run(command);
    const isMeant = /^(?:restart|status|key sync)/.test(command.name) || said.code === 0;
    expect(isMeant, `${said.out}${said.err}`).toBe(true);
    // What root wrote belongs to the account.
    const others = ['stock', 'ours'].flatMap((name) =>
      TOPS.flatMap((top) => ownedByOthers(join(at, name, top))),
    );
    expect(others).toEqual([]);
  });

  test('links of root to the directories of the account go on working', async () => {
    scene({ name: 'key' });
    const [place, elsewhere] = [join(at, 'ours'), join(at, 'srv')];
    mkdirSync(elsewhere);
    letPass(elsewhere);
    for (const top of ['pki', 'cache']) {
      cpSync(join(place, top), join(elsewhere, top), { recursive: true });
      own(join(elsewhere, top), NOBODY);
      rmSync(join(place, top), { recursive: true });
      symlinkSync(join('..', 'srv', top), join(place, top));
    }
    const { code, out, err } = await printedBy(['key', '-y', '-D', '-c', place]);
    expect(code, err).toBe(0);
    expect(out).toContain('new-1');
    expect(existsSync(join(elsewhere, 'pki/minions_pre/new-1'))).toBe(false);
    expect(ownedByOthers(elsewhere)).toEqual([elsewhere]);
  });
});

function ownedByOthers(path: string): string[] {
  const found = lstatSync(path, { throwIfNoEntry: false });
  if (found === undefined) return [];
  const below = found.isDirectory()
    ? readdirSync(path).flatMap((name) => ownedByOthers(join(path, name)))
    : [];
  return found.uid === NOBODY ? below : [path, ...below];
}
