import { open } from 'node:fs/promises';
import { promisify } from 'node:util';
import { gzip } from 'node:zlib';
import { type Command, type LocalClient, NO_MATCH } from '@brine/client';
import { mapOf, type SaltMap, type SaltValue } from '@brine/wire';
import type { CopyCommand } from './copy-options.ts';
import { goesIntoDirectory, remotePath, type SourceFile, type SourceTree } from './source-files.ts';

const compress = promisify(gzip);

/** Inputs for sending files. */
export interface Sending {
  readonly client: Pick<LocalClient, 'publish' | 'returns'>;
  readonly copy: CopyCommand;
  /** `salt_cp_chunk_size` in bytes. */
  readonly chunkBytes: number;
  readonly compressed: boolean;
  /** Prints a line about minions that did not return. */
  readonly print: (text: string) => void;
  /** Prints Salt's text for a target without minions. */
  readonly out: (text: string) => void;
}

/** Returns of minions, and the silent minions. */
interface Answers {
  readonly returned: ReadonlyMap<string, SaltValue>;
  readonly silent: readonly string[];
}

const PARTIAL = 'Minion did not return. File partially transferred.';

/**
 * `salt-cp`: all files in one job (Salt: salt/cli/cp.py run_oldstyle). Returns the map to show.
 * @throws what publishing throws.
 */
export async function sendWhole(sending: Sending, files: SaltMap): Promise<SaltMap> {
  const { target, dest } = sending.copy;
  const { returned } = await ask(sending, target, 'cp.recv', mapOf({ files, dest }));
  return new Map(returned);
}

/**
 * `salt-cp -C`: a job for each piece of each file (Salt: salt/cli/cp.py run_chunked). One piece is
 * in memory at a time. A piece goes only to minions that have all pieces before it: after a missing
 * piece the file would be wrong.
 * @throws what publishing throws.
 */
export async function sendInPieces(sending: Sending, tree: SourceTree): Promise<SaltMap> {
  const { copy } = sending;
  const into = goesIntoDirectory(tree, copy.dest);
  const shown = new Shown();
  for (const file of tree.files) {
    await sendFile(sending, file, remotePath(file.path, copy, into), shown);
  }
  for (const dir of tree.emptyDirs) {
    const dest = remotePath(dir, copy, into);
    const answers = await ask(sending, copy.target, 'cp.recv_chunked', { dest, chunk: null });
    for (const [id, value] of answers.returned) shown.set(id, dest, value);
  }
  return shown.map;
}

/** Results by minion, then by the path there. */
class Shown {
  readonly map: Map<SaltValue, SaltMap> = new Map();

  set(id: string, path: string, value: SaltValue): void {
    const paths = this.map.get(id);
    if (paths === undefined) this.map.set(id, new Map([[path, value]]));
    else paths.set(path, value);
  }
}

async function sendFile(
  sending: Sending,
  file: SourceFile,
  dest: string,
  shown: Shown,
): Promise<void> {
  let target = sending.copy.target;
  let index = 0;
  for await (const piece of piecesOf(file.path, sending.chunkBytes)) {
    const bytes = sending.compressed ? await compress(piece, { level: 9 }) : piece;
    const answers = await ask(sending, target, 'cp.recv_chunked', {
      dest,
      chunk: bytes.toString('base64'),
      append: index > 0,
      compressed: sending.compressed,
      mode: file.mode,
    });
    if (answers.returned.size === 0) {
      const text = publishFailed(index, sending.chunkBytes);
      for (const id of answers.silent) shown.set(id, dest, text);
      return;
    }
    for (const [id, value] of answers.returned) shown.set(id, dest, value);
    if (index > 0) for (const id of answers.silent) shown.set(id, dest, PARTIAL);
    const took = [...answers.returned].flatMap(([id, value]) => (value === true ? [id] : []));
    if (took.length === 0) return;
    target = { tgt: took, tgtType: 'list' };
    index += 1;
  }
}

function publishFailed(index: number, chunkBytes: number): string {
  const partial = index > 0 ? ' File partially transferred.' : '';
  const size = `salt_cp_chunk_size (current value: ${chunkBytes})`;
  return `Publish failed.${partial} It may be necessary to decrease ${size}`;
}

/** The pieces of a file up to `size`, at least one: data appended meanwhile is not sent. */
async function* piecesOf(path: string, size: number): AsyncGenerator<Buffer> {
  const file = await open(path, 'r');
  try {
    let left = (await file.stat()).size;
    let first = true;
    while (left > 0 || first) {
      const piece = Buffer.alloc(Math.min(size, left));
      const { bytesRead } = await file.read(piece, 0, piece.length);
      // It became shorter while it was read.
      if (bytesRead === 0 && !first) return;
      yield piece.subarray(0, bytesRead);
      first = false;
      left = bytesRead === 0 ? 0 : left - bytesRead;
    }
  } finally {
    await file.close();
  }
}

/**
 * Runs a function and gathers its returns. All arguments have names, because a minion would parse
 * base64 such as `QUJD=` as a named argument.
 */
async function ask(
  { client, print, out }: Sending,
  target: Pick<Command, 'tgt' | 'tgtType'>,
  fun: string,
  given: SaltMap | Readonly<Record<string, SaltValue>>,
): Promise<Answers> {
  const named: SaltMap = given instanceof Map ? new Map(given) : mapOf(given);
  named.set('__kwarg__', true);
  const job = await client.publish({ ...target, fun, arg: [named] }, { listen: true });
  const returned = new Map<string, SaltValue>();
  const silent: string[] = [];
  if (job === undefined) out(NO_MATCH);
  else {
    for await (const item of client.returns(job)) {
      if (item.kind === 'return') returned.set(item.id, item.ret);
      else silent.push(item.id);
    }
  }
  if (silent.length > 0) print(`No return from ${namesOf(silent)}`);
  return { returned, silent };
}

const NAMED_MAX = 20;

function namesOf(ids: readonly string[]): string {
  const named = ids.slice(0, NAMED_MAX).join(', ');
  return ids.length > NAMED_MAX ? `${named} and ${ids.length - NAMED_MAX} more` : named;
}
