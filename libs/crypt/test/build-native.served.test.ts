import { spawnSync } from 'node:child_process';
import {
  chmodSync,
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterEach, beforeEach, expect, test } from 'vitest';

const HERE = fileURLToPath(new URL('../native/', import.meta.url));
const LOOK = "import { buildNative } from './build.mjs'; await buildNative(console.error);";

/** A copy of the sources, and a directory for a cargo. */
let dir: string;
let bin: string;
let built: string;
beforeEach(() => {
  dir = mkdtempSync(join(tmpdir(), 'brine-native-'));
  bin = join(dir, 'bin');
  built = join(dir, 'dist', 'crypticle.node');
  for (const name of ['Cargo.toml', 'Cargo.lock', '.cargo', 'src', 'build.mjs']) {
    cpSync(join(HERE, name), join(dir, name), { recursive: true });
  }
});
afterEach(() => rmSync(dir, { recursive: true, force: true }));

function cargo(script: string): void {
  mkdirSync(bin, { recursive: true });
  writeFileSync(join(bin, 'cargo'), `#!/bin/sh\n${script}\n`);
  chmodSync(join(bin, 'cargo'), 0o755);
}

/** The output; never fails. `look` as tools/ready.mjs, `build` as `npm run build`. */
function run(how: 'look' | 'build'): string {
  const args = how === 'build' ? ['build.mjs'] : ['--input-type=module', '--eval', LOOK];
  const env = { PATH: `${bin}:/usr/bin:/bin` };
  const { status, stderr } = spawnSync(process.execPath, args, { cwd: dir, env });
  expect(status).toBe(0);
  return String(stderr);
}

const LIBRARY = `brine_crypticle.${process.platform === 'darwin' ? 'dylib' : 'so'}`;
const MAKES = `mkdir -p dist/target/release && echo "$*" > dist/target/release/lib${LIBRARY}`;

test('a cargo that builds is asked once, until a source changes', () => {
  cargo(MAKES);
  expect(run('look')).toBe('native crypto: built\n');
  expect(existsSync(built)).toBe(true);
  cargo('exit 1');
  expect(run('look')).toBe('');
  expect(run('build')).toBe('');
  writeFileSync(join(dir, 'src', 'lib.rs'), '// changed\n');
  expect(run('look')).toMatch(/^native crypto: not built \(cargo ended with 1\); /);
  // The build from other sources is gone.
  expect(existsSync(built)).toBe(false);
});

test('a build that fails is reported once with its reason, and tried again when asked', () => {
  cargo(
    'printf "error: failed to get a\\n\\nCaused by:\\n  b\\n\\nCaused by:\\n  c\\n" >&2; exit 101',
  );
  const told =
    "native crypto: not built (failed to get a: c); Node's is used, which is slower: " +
    'docs/install.md\n';
  expect(run('look')).toBe(told);
  expect(run('look')).toBe('');
  expect(run('build')).toBe(told);
  cargo(MAKES);
  expect(run('build')).toBe('native crypto: built\n');
});

test('a cargo that makes nothing is a reason too', () => {
  cargo('exit 0');
  expect(run('look')).toMatch(/^native crypto: not built \(ENOENT: /);
});
