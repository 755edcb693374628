// Builds the native part of the crypticle where there is a cargo: dist/crypticle.node. It is
// optional: no cargo, no network, a compiler that is too old are no errors. One line says what
// became of it; Node's crypto does the work then. tools/ready.mjs runs it, which tries again only
// when something changed, and so does `npm run build`, which always tries again.
import { spawn } from 'node:child_process';
import { createHash } from 'node:crypto';
import {
  accessSync,
  constants,
  copyFileSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { delimiter, dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

const HERE = dirname(fileURLToPath(import.meta.url));
const DIST = join(HERE, 'dist');
const BUILT = join(DIST, 'crypticle.node');
const OUTCOME = join(DIST, 'outcome.json');
/** What the part is made of; src/ besides. */
const SOURCES = ['Cargo.toml', 'Cargo.lock', '.cargo/config.toml'];
/** What cargo makes on a platform; on others the part is not built. */
const LIBRARIES = { linux: 'libbrine_crypticle.so', darwin: 'libbrine_crypticle.dylib' };
/** A build takes 13 s on two cores, with the download. */
const LIMIT_MS = 180_000;
const REASON_CHARS = 200;
const CARGO_ENV = {
  // Without a network cargo is to say so at once.
  CARGO_NET_RETRY: '1',
  CARGO_HTTP_TIMEOUT: '15',
  CARGO_TERM_COLOR: 'never',
  CARGO_TARGET_DIR: join(DIST, 'target'),
};

/**
 * Sees to the native part. `say` gets one line if there is news. With `retry` a build that failed
 * is tried again though nothing changed. Resolves in any case.
 */
export async function buildNative(say, { retry = false } = {}) {
  try {
    const now = { sources: digestOfSources(), cargo: findCargo() };
    if (isDone(now, retry)) return;
    // One of other sources is not used, but would be taken for the one of these.
    rmSync(BUILT, { force: true });
    const why = await tryBuild(now.cargo);
    mkdirSync(DIST, { recursive: true });
    writeFileSync(OUTCOME, `${JSON.stringify({ ...now, why }, null, 2)}\n`);
    say(why === undefined ? 'native crypto: built' : notBuilt(why));
  } catch (error) {
    say(notBuilt(error.message));
  }
}

function isDone({ sources, cargo }, retry) {
  const before = readOutcome();
  if (before?.sources !== sources) return false;
  if (before.why === undefined) return existsSync(BUILT);
  return before.cargo === cargo && !retry;
}

function notBuilt(why) {
  return `native crypto: not built (${why}); Node's is used, which is slower: docs/install.md`;
}

/** Builds, and gives the reason if it can not. */
async function tryBuild(cargo) {
  const library = LIBRARIES[process.platform];
  if (library === undefined) return `not made for ${process.platform}`;
  if (cargo === undefined) return 'no cargo on the PATH';
  const why = await runCargo(cargo);
  if (why !== undefined) return why;
  try {
    // A new file in its place: a running process goes on with the old one.
    copyFileSync(join(DIST, 'target', 'release', library), `${BUILT}.new`);
    renameSync(`${BUILT}.new`, BUILT);
  } catch (error) {
    return error.message;
  }
  return undefined;
}

function runCargo(cargo) {
  return new Promise((resolve) => {
    const child = spawn(cargo, ['build', '--release', '--locked'], {
      cwd: HERE,
      env: { ...process.env, ...CARGO_ENV },
      stdio: ['ignore', 'ignore', 'pipe'],
      timeout: LIMIT_MS,
    });
    let told = '';
    child.stderr.setEncoding('utf8').on('data', (chunk) => (told += chunk));
    child.once('error', (error) => resolve(error.message));
    child.once('close', (code, signal) => {
      if (code === 0) resolve(undefined);
      else if (signal !== null) resolve(`cargo ended with ${signal}, at most ${LIMIT_MS} ms`);
      else resolve(reasonIn(told) ?? `cargo ended with ${code}`);
    });
  });
}

/** The first error that cargo told, and what lay below it. */
function reasonIn(told) {
  const [, error] = /^error(?:\[\w+\])?: (.*)$/m.exec(told) ?? [];
  const causes = told.split(/^Caused by:$/m).slice(1);
  const last = causes.at(-1)?.trim().split('\n', 1)[0];
  const reason = [error, last].filter((text) => text !== undefined).join(': ');
  return reason === '' ? undefined : reason.slice(0, REASON_CHARS);
}

function digestOfSources() {
  const hash = createHash('sha256').update(`${process.platform} ${process.arch}\n`);
  const code = readdirSync(join(HERE, 'src')).sort();
  for (const path of [...SOURCES, ...code.map((name) => join('src', name))]) {
    hash.update(`${path}\n`).update(readFileSync(join(HERE, path)));
  }
  return hash.digest('hex');
}

function findCargo() {
  const places = (process.env.PATH ?? '').split(delimiter).filter((place) => place !== '');
  return places.map((place) => join(place, 'cargo')).find(isProgram);
}

function isProgram(path) {
  try {
    accessSync(path, constants.X_OK);
    return true;
  } catch {
    return false;
  }
}

function readOutcome() {
  try {
    return JSON.parse(readFileSync(OUTCOME, 'utf8'));
  } catch {
    // None yet, or cut off: then it is built.
    return undefined;
  }
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  await buildNative((line) => process.stderr.write(`${line}\n`), { retry: true });
}
