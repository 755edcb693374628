import { chmod, mkdir, mkdtemp, readdir, rm, stat, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { isAtLeast, versionIn } from '@brine/bus';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { resolveNatsServer } from './resolve.ts';

let dir: string;

beforeEach(async () => {
  dir = await mkdtemp(join(tmpdir(), 'brine-resolve-'));
});

afterEach(async () => {
  await rm(dir, { recursive: true, force: true });
});

/** An environment whose PATH has these scripts and the shell's own tools, and nothing else. */
async function withCommands(
  commands: Readonly<Record<string, string>>,
): Promise<NodeJS.ProcessEnv> {
  const bin = join(dir, 'bin');
  await mkdir(bin, { recursive: true });
  for (const [name, script] of Object.entries(commands)) {
    await writeFile(join(bin, name), `#!/bin/sh\n${script}\n`);
    await chmod(join(bin, name), 0o755);
  }
  return { PATH: bin, HOME: dir };
}

const says = (version: string): string => `echo "nats-server: v${version}"`;

/** A go that "builds" a server of a version. */
const goMaking = (version: string): string =>
  `/bin/mkdir -p "$GOBIN"; /bin/sleep 0.1
echo '#!/bin/sh\n${says(version)}' > "$GOBIN/nats-server"`;

test.each([
  ['2.12.8', true],
  ['2.12.10', true],
  ['v2.13.0-RC.1', true],
  ['3.0.0', true],
  ['2.12.7', false],
  ['2.9.10', false],
  ['nonsense', false],
])('whether %s is at least 2.12.8: %s', (version, enough) => {
  expect(isAtLeast(version, '2.12.8')).toBe(enough);
});

test('the version is found in what nats-server -v prints', () => {
  expect(versionIn('nats-server: v2.12.8\n')).toBe('2.12.8');
  expect(versionIn('command not found')).toBeUndefined();
});

test('a server on PATH that is new enough is taken as it is', async () => {
  const env = await withCommands({ 'nats-server': says('2.14.0') });
  expect(await resolveNatsServer({ env })).toBe(join(dir, 'bin', 'nats-server'));
});

test('an older one on PATH is passed over and said so', async () => {
  const env = await withCommands({ 'nats-server': says('2.9.10'), go: goMaking('2.12.8') });
  const told: string[] = [];
  const path = await resolveNatsServer({ env, onProgress: (text) => told.push(text) });
  expect(path).toBe(join(dir, '.cache/brine/nats-server/2.12.8/nats-server'));
  expect(told[0]).toMatch(/is 2\.9\.10, older than 2\.12\.8/);
});

test('several installers at once end with one file and leave nothing beside it', async () => {
  const env = {
    ...(await withCommands({ go: goMaking('2.12.8') })),
    XDG_CACHE_HOME: join(dir, 'x'),
  };
  const paths = await Promise.all(Array.from({ length: 4 }, () => resolveNatsServer({ env })));
  expect(new Set(paths)).toEqual(new Set([join(dir, 'x/brine/nats-server/2.12.8/nats-server')]));
  const [path = ''] = paths;
  expect(await readdir(dirname(path))).toEqual(['nats-server']);
  expect((await stat(path)).mode & 0o777).toBe(0o755);
});

test('a server in the cache is taken without installing again', async () => {
  const env = await withCommands({ go: goMaking('2.12.8') });
  const first = await resolveNatsServer({ env });
  const told: string[] = [];
  const later = await withCommands({ go: 'exit 1' });
  expect(await resolveNatsServer({ env: later, onProgress: (text) => told.push(text) })).toBe(
    first,
  );
  expect(told).toEqual([]);
});

test('a made server of another version is not taken', async () => {
  const env = await withCommands({ go: goMaking('2.15.1') });
  await expect(resolveNatsServer({ env })).rejects.toThrow(/go: its version is .*2\.15\.1/);
});

test('where nothing helps, one error lists the tries and what can be done', async () => {
  const env = await withCommands({
    pip: 'echo no network; exit 1',
    go: 'echo offline >&2; exit 1',
  });
  await expect(resolveNatsServer({ env })).rejects.toMatchObject({
    code: 'BUS_SERVER_MISSING',
    message: expect.stringMatching(/go: offline.*NATS_URL.*PATH.*go install.*brew.*pip/s),
  });
  expect(await readdir(join(dir, '.cache/brine/nats-server/2.12.8'))).toEqual([]);
});
