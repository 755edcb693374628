import { mkdir, rename, rm, stat, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { promisify } from 'node:util';
import { gunzip } from 'node:zlib';
import { fingerprint } from '@brine/crypt';
import { isMap, listOf, mapOf, type SaltMap, type SaltValue, textOf } from '@brine/wire';
import { buildMinionEvent, buildServeFile, parseFilePiece } from '@brine/wire/load';
import { pyStr } from '@brine/wire/text';
import {
  type Call,
  ExecutionError,
  type FunctionTable,
  InvocationError,
  type MinionFunction,
  textArgument,
} from './minion-function.ts';

/** Access to the master for functions that ask it. */
export interface MasterAccess {
  readonly id: string;
  /** `hash_type`, for fingerprints. */
  readonly hashType: string;
  /** This minion's public key and, once it is known, the master's. */
  readonly ownPub: string;
  readonly masterPub: () => Promise<string | undefined>;
  /** Sends a load and returns the master's answer. @throws MinionError without a usable answer */
  send(load: SaltMap): Promise<SaltValue>;
  sleep(ms: number): Promise<void>;
}

/** `cp.get_file` reads a whole file into memory. */
const FILE_MAX_BYTES = 256 * 1024 * 1024;
const PIECE_MAX_BYTES = 64 * 1024 * 1024;
const POLL_MS = 300;
/** Salt takes any time; here it is limited. */
const WAIT_MAX_S = 86_400;

const uncompress = promisify(gunzip);

/**
 * Functions that ask the master: files, the mine, events, other minions, runners. `master` is
 * undefined for `salt-call --local`.
 */
export function masterFunctions(master: MasterAccess | undefined): FunctionTable {
  const asked: Asked = (run) => (call) => {
    if (master === undefined) throw new ExecutionError(NO_MASTER);
    return run(call, master);
  };
  return new Map<string, MinionFunction>([
    ...publishFunctions(asked),
    [
      'mine.get',
      {
        doc: 'Get values of the mine from the minions that match.',
        parameters: [
          { name: 'tgt' },
          { name: 'fun' },
          { name: 'tgt_type', default: 'glob' },
          { name: 'exclude_minion', default: false },
        ],
        run: asked(mineGet),
      },
    ],
    [
      'event.send',
      {
        doc: 'Send an event to the master.',
        parameters: [{ name: 'tag' }, { name: 'data', default: null }],
        takes: 'kwargs',
        run: asked(sendEvent),
      },
    ],
    ...fileFunctions(asked),
    ...keyFunctions(asked),
  ]);
}

type Run = (call: Call, access: MasterAccess) => SaltValue | Promise<SaltValue>;
/** Turns a function that needs a master into one that runs on a minion. */
type Asked = (run: Run) => MinionFunction['run'];

const PUBLISH = [
  { name: 'tgt' },
  { name: 'fun' },
  { name: 'arg', default: null },
  { name: 'tgt_type', default: 'glob' },
  { name: 'returner', default: '' },
  { name: 'timeout', default: 5 },
];
const RUNNER = [{ name: 'fun' }, { name: 'arg', default: null }, { name: 'timeout', default: 5 }];

function publishFunctions(asked: Asked): [string, MinionFunction][] {
  return [
    [
      'publish.publish',
      {
        doc: 'Run a function on other minions, if peer of the master allows it.',
        parameters: PUBLISH,
        run: asked((call, access) => publishTo(call, access, 'clean')),
      },
    ],
    [
      'publish.full_data',
      {
        doc: 'As publish.publish, with all that is known of each return.',
        parameters: PUBLISH,
        run: asked((call, access) => publishTo(call, access, 'full')),
      },
    ],
    [
      'publish.runner',
      {
        doc: 'Run a runner on the master, if peer_run of the master allows it.',
        parameters: RUNNER,
        run: asked(runOnMaster),
      },
    ],
  ];
}

function keyFunctions(asked: Asked): [string, MinionFunction][] {
  return [
    [
      'key.finger',
      {
        doc: "Return the fingerprint of this minion's public key.",
        run: asked((_call, { ownPub, hashType }) => fingerprint(ownPub, '3006', hashType)),
      },
    ],
    [
      'key.finger_master',
      {
        doc: "Return the fingerprint of the master's public key.",
        run: asked(async (_call, { masterPub, hashType }) => {
          const pub = await masterPub();
          return pub === undefined ? '' : fingerprint(pub, '3006', hashType);
        }),
      },
    ],
  ];
}

const NO_MASTER = 'No access to master. If using salt-call with --local, please remove.';

function fileFunctions(asked: Asked): [string, MinionFunction][] {
  const saltenv = { name: 'saltenv', default: 'base' };
  return [
    [
      'cp.get_file',
      {
        doc: 'Fetch a file from the master: path (salt://…), dest, saltenv, makedirs.',
        parameters: [
          { name: 'path' },
          { name: 'dest' },
          saltenv,
          { name: 'makedirs', default: false },
        ],
        run: asked(getFile),
      },
    ],
    [
      'cp.get_file_str',
      {
        doc: "Return the contents of a file of the master's file server.",
        parameters: [{ name: 'path' }, saltenv],
        run: asked(async (call, access) => {
          const bytes = await fetchFile(call, access);
          return bytes === undefined ? false : bytes.toString('utf8');
        }),
      },
    ],
    [
      'cp.list_master',
      {
        doc: "List the files of the master's file server.",
        parameters: [saltenv, { name: 'prefix', default: '' }],
        run: asked(async (call, access) => {
          const [env, prefix] = [textArgument(call, 'saltenv'), textArgument(call, 'prefix')];
          const reply = await access.send(mapOf({ cmd: '_file_list', saltenv: env, prefix }));
          return Array.isArray(reply) ? reply : [];
        }),
      },
    ],
  ];
}

/** Waits until all matching minions have returned, or the time is up (Salt: modules/publish.py). */
async function publishTo(
  call: Call,
  access: MasterAccess,
  form: 'clean' | 'full',
): Promise<SaltValue> {
  const fun = textArgument(call, 'fun');
  // A minion that makes minions publish would never end.
  if (fun.startsWith('publish.')) return new Map();
  const seconds = secondsOf(call);
  const published = await access.send(
    mapOf({
      cmd: 'minion_pub',
      fun,
      arg: argumentsOf(call),
      tgt: call.named.get('tgt') ?? null,
      tgt_type: textArgument(call, 'tgt_type'),
      ret: textArgument(call, 'returner'),
      tmo: seconds,
      form,
      id: access.id,
      no_parse: [],
    }),
  );
  const jid = isMap(published) ? textOf(published, 'jid') : undefined;
  if (!isMap(published) || jid === undefined) return new Map();
  const minions = listOf(published, 'minions') ?? [];
  let returned: SaltMap;
  for (let waitedMs = 0; ; waitedMs += POLL_MS) {
    const reply = await access.send(mapOf({ cmd: 'pub_ret', id: access.id, jid }));
    returned = isMap(reply) ? reply : new Map<SaltValue, SaltValue>();
    const isWhole = minions.every((id) => returned.has(id));
    if (isWhole || waitedMs > seconds * 1000) break;
    await access.sleep(POLL_MS);
  }
  if (form === 'full') return returned;
  return new Map(
    [...returned].map(([id, one]) => [id, (isMap(one) ? one.get('ret') : undefined) ?? null]),
  );
}

async function runOnMaster(call: Call, access: MasterAccess): Promise<SaltValue> {
  return access.send(
    mapOf({
      cmd: 'minion_runner',
      fun: textArgument(call, 'fun'),
      arg: argumentsOf(call),
      tmo: secondsOf(call),
      id: access.id,
      no_parse: [],
    }),
  );
}

async function mineGet(call: Call, access: MasterAccess): Promise<SaltValue> {
  const load = mapOf({
    cmd: '_mine_get',
    id: access.id,
    tgt: call.named.get('tgt') ?? null,
    fun: call.named.get('fun') ?? null,
    tgt_type: textArgument(call, 'tgt_type'),
  });
  const reply = await access.send(load);
  if (!isMap(reply)) return new Map();
  if (call.named.get('exclude_minion') === true) reply.delete(access.id);
  return reply;
}

async function sendEvent(call: Call, access: MasterAccess): Promise<SaltValue> {
  const data: SaltMap = new Map(call.kwargs);
  const given = call.named.get('data') ?? null;
  if (isMap(given)) for (const [key, value] of given) data.set(key, value);
  // Salt drops it silently.
  else if (given !== null) throw new InvocationError('data must be a dictionary');
  await access.send(buildMinionEvent(access.id, textArgument(call, 'tag'), data));
  return true;
}

/** The path that was written; empty if the file or the directory does not exist. */
async function getFile(call: Call, access: MasterAccess): Promise<SaltValue> {
  const given = textArgument(call, 'dest');
  const isDirectory = await stat(given).then(
    (found) => found.isDirectory(),
    () => given.endsWith('/'), // The path does not exist: its last character decides.
  );
  const name = pathOf(call).split('/').at(-1) ?? '';
  const dest = isDirectory ? join(given, name) : given;
  const bytes = await fetchFile(call, access);
  if (bytes === undefined) return '';
  if (call.named.get('makedirs') === true) await mkdir(dirname(dest), { recursive: true });
  const part = `${dest}.brine-part`;
  try {
    await writeFile(part, bytes, { mode: 0o644 });
    await rename(part, dest);
  } catch (error) {
    await rm(part, { force: true });
    if (error instanceof Error && 'code' in error && error.code === 'ENOENT') return '';
    throw error;
  }
  return dest;
}

function pathOf(call: Call): string {
  const path = textArgument(call, 'path');
  if (!path.startsWith('salt://')) throw new InvocationError(`no salt:// path: ${path}`);
  return path.slice('salt://'.length).replace(/\?saltenv=.*$/, '');
}

/** A file of the master, or undefined. */
async function fetchFile(call: Call, access: MasterAccess): Promise<Buffer | undefined> {
  const saltenv = /\?saltenv=(.*)$/.exec(textArgument(call, 'path'))?.[1];
  const place = { path: pathOf(call), saltenv: saltenv ?? textArgument(call, 'saltenv') };
  const pieces: Buffer[] = [];
  let loc = 0;
  for (;;) {
    const reply = await access.send(buildServeFile({ ...place, loc, gzip: 5 }));
    const piece = isMap(reply) && reply.size > 0 ? parseFilePiece(reply) : undefined;
    if (piece === undefined || (piece.dest === '' && loc === 0)) return undefined;
    if (piece.data.length === 0) return Buffer.concat(pieces);
    const bytes =
      piece.gzip === undefined
        ? Buffer.from(piece.data)
        : await uncompress(piece.data, { maxOutputLength: PIECE_MAX_BYTES });
    loc += bytes.length;
    if (loc > FILE_MAX_BYTES) {
      throw new ExecutionError(`${place.path} is larger than ${FILE_MAX_BYTES} bytes`);
    }
    pieces.push(bytes);
  }
}

function secondsOf(call: Call): number {
  const seconds = Number(pyStr(call.named.get('timeout') ?? 5));
  if (!(seconds >= 0 && seconds <= WAIT_MAX_S)) throw new InvocationError('no such timeout');
  return seconds;
}

/** Splits a text into arguments at its commas (Salt: modules/publish.py _parse_args). */
function argumentsOf(call: Call): SaltValue[] {
  const given = call.named.get('arg') ?? null;
  if (given === null || given === '') return [];
  if (Array.isArray(given)) return given;
  return typeof given === 'string' ? given.split(',') : [given];
}
