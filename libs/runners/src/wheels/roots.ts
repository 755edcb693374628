import { mapOf, type SaltMap, type SaltValue } from '@brine/wire';
import { pyStr } from '@brine/wire/text';
import type { RunnerMaster, WheelFunction } from '../function.ts';
import type { HostTree } from '../host-ports.ts';

type RootsOption = 'file_roots' | 'pillar_roots';
type Named = ReadonlyMap<string, SaltValue>;

/** Limit of entries in one listing. */
const ENTRIES_MAX = 100_000;
/** Size limit of a file that is shown or written: it is part of one request. */
const FILE_MAX_BYTES = 8 * 1024 * 1024;
/** Size of the head that decides whether a file is text (salt/utils/files.py is_text). */
const HEAD_BYTES = 512;

const AT = [['path'], ['saltenv', 'base']] as const;

/** True if bytes are text, by Salt's rule (salt/utils/stringutils.py is_binary). */
export function isTextHead(head: Uint8Array): boolean {
  if (head.includes(0)) return false;
  const isPrintable = (byte: number): boolean =>
    (byte >= 32 && byte < 127) || [8, 9, 10, 12, 13].includes(byte);
  // A head may end within a character.
  const isUtf8 = [0, 1, 2, 3].some((cut) => readsAsUtf8(head.subarray(0, head.length - cut)));
  const strange = head.filter((byte) => !isPrintable(byte) && !(isUtf8 && byte >= 128)).length;
  return head.length === 0 || strange / head.length <= 0.3;
}

function readsAsUtf8(bytes: Uint8Array): boolean {
  try {
    new TextDecoder('utf-8', { fatal: true }).decode(bytes);
    return true;
  } catch {
    return false; // The decoder rejects the bytes.
  }
}

/** As Python's `os.path.join` of two. */
function joined(root: string, path: string): string {
  if (path.startsWith('/')) return path;
  return root.endsWith('/') ? `${root}${path}` : `${root}/${path}`;
}

/** The files of a path, in the order of the roots. */
async function* filesAt(option: RootsOption, named: Named, { hostFiles }: RunnerMaster) {
  const path = pyStr(named.get('path') ?? '');
  const roots = (await hostFiles.roots(option)).get(pyStr(named.get('saltenv') ?? null)) ?? [];
  for (const root of roots) {
    const limits = { maxBytes: FILE_MAX_BYTES, headBytes: HEAD_BYTES };
    const head = await hostFiles.readBelow(root, path, limits);
    if (head !== undefined)
      yield { root, path, full: joined(root, path), isText: isTextHead(head) };
  }
}

async function find(option: RootsOption, named: Named, master: RunnerMaster): Promise<SaltValue> {
  const found: SaltMap[] = [];
  for await (const { full, isText } of filesAt(option, named, master)) {
    found.push(mapOf({ [full]: isText ? 'txt' : 'bin' }));
  }
  return found;
}

async function read(option: RootsOption, named: Named, master: RunnerMaster): Promise<SaltValue> {
  const found: SaltMap[] = [];
  for await (const { root, path, full, isText } of filesAt(option, named, master)) {
    if (!isText) continue;
    const limits = { maxBytes: FILE_MAX_BYTES };
    const bytes = await master.hostFiles.readBelow(root, path, limits);
    if (bytes === undefined) continue;
    if (!readsAsUtf8(bytes)) throw new Error(`${full} is not UTF-8`);
    found.push(mapOf({ [full]: Buffer.from(bytes).toString('utf8') }));
  }
  return found;
}

async function listEnv(
  option: RootsOption,
  saltenv: string,
  { hostFiles }: RunnerMaster,
): Promise<SaltMap> {
  const found: SaltMap = new Map();
  for (const root of (await hostFiles.roots(option)).get(saltenv) ?? []) {
    found.set(root, shownTree(await hostFiles.treeBelow(root, ENTRIES_MAX)));
  }
  return found;
}

function shownTree(tree: HostTree): SaltMap {
  return new Map([...tree].map(([name, kept]) => [name, kept === 'f' ? kept : shownTree(kept)]));
}

async function listRoots(option: RootsOption, master: RunnerMaster): Promise<SaltMap> {
  const found: SaltMap = new Map();
  for (const saltenv of (await master.hostFiles.roots(option)).keys()) {
    found.set(saltenv, [await listEnv(option, saltenv, master)]);
  }
  return found;
}

async function write(option: RootsOption, named: Named, master: RunnerMaster): Promise<SaltValue> {
  const { hostFiles } = master;
  const [path, saltenv] = [pyStr(named.get('path') ?? ''), pyStr(named.get('saltenv') ?? null)];
  const data = named.get('data') ?? null;
  const index = named.get('index');
  const roots = (await hostFiles.roots(option)).get(saltenv);
  if (roots === undefined) return `Named environment ${saltenv} is not present`;
  // Python takes a negative index from the end; here it names no root.
  const root = typeof index === 'number' ? roots[index] : undefined;
  if (root === undefined) {
    return `Specified index ${pyStr(index ?? null)} in environment ${saltenv} is not present`;
  }
  if (path.startsWith('/')) {
    return `The path passed in ${path} is not relative to the environment ${saltenv}`;
  }
  if (typeof data !== 'string' && !(data instanceof Uint8Array)) {
    throw new TypeError(`expected str, bytes, or bytearray not ${pyStr(data)}`);
  }
  if (Buffer.byteLength(data) > FILE_MAX_BYTES) {
    throw new Error(`a file has at most ${FILE_MAX_BYTES} bytes`);
  }
  if ((await hostFiles.writeBelow(root, path, data)) === 'refused') {
    return option === 'file_roots' ? `Invalid path: ${path}` : 'Invalid path';
  }
  return `Wrote data to file ${joined(root, path)}`;
}

/** `file_roots.*` or `pillar_roots.*`, whose functions are the same. */
function rootsWheel(option: RootsOption): readonly WheelFunction[] {
  const where = `${option} on the host of the worker`;
  const env = 'saltenv: the environment (default base).';
  return [
    {
      name: `${option}.find`,
      parameters: AT,
      doc: `Lists where ${where} have a file, and whether it is text. path: below a root. ${env}`,
      run: ({ named }, master) => find(option, named, master),
    },
    {
      name: `${option}.read`,
      parameters: AT,
      doc: `Shows the text files of a path in ${where}. path: below a root. ${env}`,
      run: ({ named }, master) => read(option, named, master),
    },
    {
      name: `${option}.list_env`,
      parameters: [['saltenv', 'base']],
      doc: `Shows all files of an environment in ${where}. ${env}`,
      run: ({ named }, master) => listEnv(option, pyStr(named.get('saltenv') ?? null), master),
    },
    {
      name: `${option}.list_roots`,
      parameters: [],
      doc: `Shows all files of all environments in ${where}.`,
      run: (_given, master) => listRoots(option, master),
    },
    {
      name: `${option}.write`,
      parameters: [['data'], ['path'], ['saltenv', 'base'], ['index', 0]],
      doc:
        `Writes a file below ${where}; links and .. are refused. data: its text, up to 8 MiB. ` +
        `path: below the root. ${env} index: which root of it (default 0).`,
      run: ({ named }, master) => write(option, named, master),
    },
  ];
}

/** `file_roots.*`, `pillar_roots.*` (salt/wheel/file_roots.py, pillar_roots.py). */
export const ROOTS_WHEEL: readonly WheelFunction[] = [
  ...rootsWheel('file_roots'),
  ...rootsWheel('pillar_roots'),
];
