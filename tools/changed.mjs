// Runs the tests that a change can reach: `npm run test:changed`, or with a commit to compare with,
// `npm run test:changed -- BASE`. The change is what differs from BASE, with what is not committed.
// Without BASE it is what this branch has beyond its upstream, or beyond main. Nx knows which
// packages depend on which.
import { execFileSync, spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

const ROOT = dirname(dirname(fileURLToPath(import.meta.url)));
const NX = join(ROOT, 'node_modules', 'nx', 'dist', 'bin', 'nx.js');
/** The package at the root: its tests are below test/ and tools/. */
const WHOLE = 'brine';
const LAYERS = ['pure', 'served', 'masters'];

const [base = usualBase(), ...more] = process.argv.slice(2);
if (more.length > 0) {
  console.error('npm run test:changed -- [BASE]: a commit or branch to compare with');
  process.exit(2);
}
const folders = reached(base);
console.log(`changed since ${base}, reached: ${folders.join(' ') || 'no tests'}`);
if (folders.length > 0) process.exit(runTests(folders));

/** The folders whose tests can come out otherwise than at `base`. */
function reached(base) {
  const args = ['show', 'projects', '--affected', '--json', `--base=${commitOf(base)}`];
  const names = JSON.parse(execFileSync(process.execPath, [NX, ...args], { cwd: ROOT }));
  const packages = workspaces().filter(({ name }) => names.includes(name));
  const folders = packages.map(({ folder }) => `${folder}/`);
  // Tests with whole masters start every app, which they do not import.
  const isWhole =
    names.includes(WHOLE) || packages.some(({ folder }) => folder.startsWith('apps/'));
  return isWhole ? [...folders, 'test/', 'tools/'] : folders;
}

function workspaces() {
  const manifests = git('ls-files', '*/package.json').split('\n');
  return manifests.map((path) => {
    const { name } = JSON.parse(readFileSync(join(ROOT, path), 'utf8'));
    return { name, folder: dirname(path) };
  });
}

function usualBase() {
  try {
    return git('rev-parse', '--abbrev-ref', '@{upstream}');
  } catch {
    return 'main'; // A branch without upstream.
  }
}

function commitOf(ref) {
  try {
    return git('merge-base', 'HEAD', ref);
  } catch {
    console.error(`git knows no ${ref} to compare with`);
    process.exit(2);
  }
}

function git(...args) {
  return execFileSync('git', args, { cwd: ROOT, encoding: 'utf8', stdio: 'pipe' }).trim();
}

function runTests(folders) {
  const only = folders.flatMap((folder) => ['--only', folder]);
  const args = [join(ROOT, 'tools', 'run-tests.mjs'), ...LAYERS, ...only];
  const { status, error } = spawnSync(process.execPath, args, { cwd: ROOT, stdio: 'inherit' });
  if (error !== undefined) throw error;
  return status ?? 1;
}
