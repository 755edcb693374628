import { execFile } from 'node:child_process';
import { mkdir, mkdtemp, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { isDeepStrictEqual } from 'node:util';
import { compileIgnored, FileServer, RootsBackend } from '@brine/fileserver';
import { newestOf, saltVenv, type SaltVersion } from '@brine/testing';
import { afterAll, beforeAll, expect, test } from 'vitest';

/* The same trees asked in real Salt (its Fileserver, run in Python) and in Brine. */

const ORACLE = String.raw`
import json, sys
import salt.config, salt.fileserver
given = json.load(sys.stdin)
base = salt.config.master_config(None)
out = []
for chosen in given["opts"]:
    fs = salt.fileserver.Fileserver({**base, **chosen})
    answers = []
    for cmd, load in given["asked"]:
        load = dict(load)
        try:
            got = getattr(fs, cmd)(load)
        except Exception as exc:
            got = "raises"
        if cmd == "file_find":
            stat = got.get("stat")
            # Asking changes the time of access.
            stat = stat and stat[:7] + stat[8:]
            got = [got.get("path"), got.get("rel"), got.get("back"), stat]
        if cmd == "serve_file" and isinstance(got, dict):
            data = got["data"]
            got = [data.decode("latin1") if isinstance(data, bytes) else data, got.get("dest")]
        answers.append(got)
    out.append(answers)
json.dump(out, sys.stdout)
`;

let dir = '';
beforeAll(async () => {
  dir = await mkdtemp(join(tmpdir(), 'brine-fsdiff-'));
  for (const [path, content] of Object.entries(TREE)) {
    await mkdir(join(dir, path, '..'), { recursive: true });
    await writeFile(join(dir, path), content);
  }
  for (const path of ['base/empty', 'base/sub/none', 'base/hidden/.only']) {
    await mkdir(join(dir, path), { recursive: true });
  }
  for (const [path, target] of Object.entries(LINKS)) {
    await symlink(target.replace('DIR', dir), join(dir, path));
  }
});
afterAll(() => rm(dir, { recursive: true, force: true }));

const TREE: Record<string, string> = {
  'secret/key': 'secret',
  'base/top.sls': 'base: {}',
  'base/sub/file': 'x'.repeat(3000),
  'base/sub/deeper/ü': 'umlaut',
  'base/sub/deeper/\u{1f600}': 'astral',
  'base/sub/deeper/\uffee': 'late in the plane',
  'base/.svn/entries': 'svn',
  'base/a.swp': 'swap',
  'base/with space': 's',
  'base/q?x': 'question',
  'base/nothing': '',
  'second/top.sls': 'second',
  'second/only': 'only',
  'envs/dev/here': 'dev',
};
const LINKS: Record<string, string> = {
  'base/in': 'top.sls',
  'base/sub/up': '../top.sls',
  'base/out': 'DIR/secret/key',
  'base/outdir': 'DIR/secret',
  'base/relout': '../secret/key',
  'base/dangling': 'nowhere',
  'base/emptylink': 'empty',
  'base/absin': 'DIR/base/top.sls',
};
const PATHS = [
  ...Object.keys(TREE).map((path) => path.replace(/^[^/]+\//, '')),
  ...Object.keys(LINKS).map((path) => path.replace(/^[^/]+\//, '')),
  ...['outdir/key', 'sub', 'sub/', 'sub/file/', './top.sls', 'sub//file', 'sub/./file', '..', ''],
  ...[
    '../secret/key',
    'sub/../top.sls',
    'sub/..',
    '/etc/passwd',
    '|top.sls',
    '|q?x',
    '|/etc/passwd',
  ],
  ...['top.sls?saltenv=dev', 'here?saltenv=dev', 'top.sls?index=1', 'top.sls?index=9', 'top.sls?a'],
  ...['top.sls?index=x', 'nope', 'only?index=-1', '..\\secret', 'top.sls/x', '~/x', '.'],
];
const ENVS = ['base', 'dev', 'nope', 'here', '__env__'];

type Asked = readonly [cmd: string, load: Readonly<Record<string, string | number>>];

function questions(): Asked[] {
  const asked: Asked[] = [];
  for (const saltenv of ENVS) {
    for (const path of PATHS) {
      asked.push(['file_find', { path, saltenv }], ['file_hash', { path, saltenv }]);
      for (const loc of [0, 1000, 5000]) asked.push(['serve_file', { path, saltenv, loc }]);
    }
    for (const prefix of ['', 'sub', '/sub/', 's', 'nope']) {
      for (const cmd of ['file_list', 'file_list_emptydirs', 'dir_list', 'symlink_list']) {
        asked.push([cmd, { saltenv, prefix }]);
      }
    }
  }
  return asked;
}

interface Given {
  readonly fileRoots: Readonly<Record<string, readonly string[]>>;
  readonly follow: boolean;
  readonly ignore: boolean;
  readonly regexes: readonly string[];
  readonly globs: readonly string[];
}

/** What a real Salt answers to all questions, under each of the given options. */
async function askSalt(
  version: SaltVersion,
  cases: readonly Given[],
  asked: readonly Asked[],
): Promise<unknown[][]> {
  const venv = await saltVenv(version);
  const opts = cases.map((given, index) => ({
    file_roots: given.fileRoots,
    fileserver_backend: ['roots'],
    fileserver_followsymlinks: given.follow,
    fileserver_ignoresymlinks: given.ignore,
    file_ignore_regex: given.regexes,
    file_ignore_glob: given.globs,
    file_buffer_size: 1000,
    hash_type: 'sha256',
    cachedir: join(dir, `cache-${version}-${index}`),
    extension_modules: join(dir, 'extmods'),
  }));
  return new Promise((resolve, reject) => {
    const child = execFile(
      venv.python,
      ['-c', ORACLE],
      { maxBuffer: 64 * 1024 * 1024, timeout: 300_000 },
      (error, stdout, stderr) => {
        if (error === null) resolve(JSON.parse(stdout) as unknown[][]);
        else reject(new Error(stderr.slice(-2000), { cause: error }));
      },
    );
    child.stdin?.end(JSON.stringify({ opts, asked }));
  });
}

async function askBrine(given: Given, asked: readonly Asked[]): Promise<unknown[]> {
  const roots = new RootsBackend({
    fileRoots: given.fileRoots,
    followSymlinks: given.follow,
    ignoreSymlinks: given.ignore,
    ignored: compileIgnored(given.regexes, given.globs),
    listCacheMs: 20_000,
    onTooLarge: () => undefined,
  });
  const files = new FileServer({ backends: [roots], hashType: 'sha256', pieceBytes: 1000 });
  const answers: unknown[] = [];
  for (const [cmd, load] of asked) answers.push(await answerOf(files, cmd, load));
  return answers;
}

async function answerOf(files: FileServer, cmd: string, load: Asked[1]): Promise<unknown> {
  const path = String(load['path'] ?? '');
  const saltenv = String(load['saltenv']);
  const lists = async () => files.lists(saltenv);
  const prefix = String(load['prefix'] ?? '').replace(/^\/+|\/+$/g, '');
  const cut = (paths: readonly string[]): string[] => paths.filter((one) => one.startsWith(prefix));
  switch (cmd) {
    case 'file_find': {
      const found = path === '' ? undefined : await files.find(path, saltenv);
      const stat = found?.stat?.toSpliced(7, 1) ?? null;
      return [found?.path ?? '', found?.rel ?? '', found?.back ?? null, stat];
    }
    case 'file_hash': {
      const hashed = await files.hash(path, saltenv);
      if (hashed === undefined) return '';
      return { hash_type: hashed.hash?.hashType, hsum: hashed.hash?.hsum };
    }
    case 'serve_file': {
      const piece = await files.serve({ path, saltenv, loc: Number(load['loc']) });
      return [Buffer.from(piece.data).toString('latin1'), piece.dest];
    }
    case 'file_list':
      return cut((await lists()).files);
    case 'dir_list':
      return cut((await lists()).dirs);
    case 'file_list_emptydirs':
      return cut((await lists()).emptyDirs);
    default: {
      const links = [...(await lists()).links].filter(([one]) => one.startsWith(prefix));
      return Object.fromEntries(links);
    }
  }
}

const flags = [true, false];

test.each([newestOf('3006'), newestOf('3008')])(
  'files are found, listed and served as by Salt %s',
  async (version) => {
    const cases = flags.flatMap((follow) =>
      flags.map((ignore): Given => ({
        fileRoots: {
          base: [join(dir, 'base'), join(dir, 'second')],
          dev: [join(dir, 'envs/dev')],
          __env__: [join(dir, 'envs', '__env__'), join(dir, '__env__')],
        },
        follow,
        ignore,
        regexes: ['/\\.svn($|/)', '^\\.svn'],
        globs: ['*.swp'],
      })),
    );
    const asked = questions();
    const salt = await askSalt(version, cases, asked);
    for (const [index, given] of cases.entries()) {
      const brine = await askBrine(given, asked);
      const differing = asked.flatMap((question, at) => {
        const [theirs, ours] = [salt[index]?.[at], brine[at]];
        return isDeepStrictEqual(theirs, ours) ? [] : [{ question, theirs, ours }];
      });
      expect(differing, `follow ${given.follow}, ignore ${given.ignore}`).toEqual([]);
    }
    expect(asked.length).toBeGreaterThan(1000);
  },
);
