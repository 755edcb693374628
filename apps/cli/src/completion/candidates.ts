import { LINK_NAMES } from '../link-names.ts';

/** The data of completion, loaded on demand. */
export interface CompletionSources {
  /** The commands of `brine`. */
  readonly commands: readonly string[];
  /** The help page of a command. */
  helpOf(command: string): Promise<string>;
  /** Ids of keys: accepted, pending, or all. */
  ids(which: 'accepted' | 'pending' | 'all', configDir: string | undefined): Promise<string[]>;
  /** Functions of minions. */
  functions(configDir: string | undefined): Promise<readonly string[]>;
  /** Functions of `brine run`. */
  runners(): Promise<readonly string[]>;
  /** Names of node groups. */
  nodegroups(configDir: string | undefined): Promise<readonly string[]>;
}

/** A longer list does not help. */
const CANDIDATES_MAX = 5_000;

const VALUES: ReadonlyMap<string, readonly string[]> = new Map([
  ['--out', outputters()],
  ['--output', outputters()],
  ['--state-output', stateOutputs()],
  ['--state_output', stateOutputs()],
  ['--log-level', logLevels()],
  ['--log-file-level', logLevels()],
  ['--state-verbose', ['True', 'False']],
  ['--state_verbose', ['True', 'False']],
  ['--rotate-aes-key', ['True', 'False']],
  ['--list', ['acc', 'pre', 'un', 'rej', 'den', 'all']],
]);

function outputters(): string[] {
  const names = ['nested', 'json', 'yaml', 'txt', 'raw', 'pprint', 'table', 'highstate', 'key'];
  return [...names, 'no_return', 'quiet', 'progress', 'newline_values_only', 'profile'];
}

function stateOutputs(): string[] {
  const names = ['full', 'terse', 'mixed', 'changes', 'filter'];
  return names.flatMap((name) => [name, `${name}_id`]);
}

function logLevels(): string[] {
  return ['quiet', 'critical', 'error', 'warning', 'info', 'debug', 'trace', 'all'];
}

/** Options of salt-key whose value is an id. */
const KEY_IDS: ReadonlyMap<string, 'accepted' | 'pending' | 'all'> = new Map([
  ...(['-a', '--accept'] as const).map((name) => [name, 'pending'] as const),
  ...(['-r', '--reject', '-d', '--delete', '-p', '--print', '-f', '--finger'] as const).map(
    (name) => [name, 'all'] as const,
  ),
]);

/**
 * The words that complete a line; empty if only the shell can know (paths, arguments).
 * @param words the line: first the program, last the word that is being typed
 */
export async function candidatesFor(
  words: readonly string[],
  sources: CompletionSources,
): Promise<string[]> {
  const typed = words.at(-1) ?? '';
  const fitting = (found: readonly string[]): string[] =>
    [...new Set(found)]
      // A candidate with a line end would become several words.
      .filter((word) => word.startsWith(typed) && !/\p{Cc}/u.test(word))
      .sort()
      .slice(0, CANDIDATES_MAX);
  const [program = '', ...given] = words;
  const linked = LINK_NAMES.get(program.slice(program.lastIndexOf('/') + 1));
  const rest = linked === undefined ? withoutApi(given) : given;
  if (linked === undefined && rest.length <= 1) {
    return fitting(typed.startsWith('-') ? ['--api'] : sources.commands);
  }
  const command = linked ?? LINK_NAMES.get(rest[0] ?? '') ?? rest[0] ?? '';
  const before = (linked === undefined ? rest.slice(1) : rest).slice(0, -1);
  return fitting(await wordsFor({ command, before, typed, sources }));
}

/** The words of `brine` behind `--api`, which may have an address. */
function withoutApi(words: readonly string[]): readonly string[] {
  const [first = '', second = ''] = words;
  if (words.length < 2 || !/^--api(?:=|$)/.test(first)) return words;
  const hasAddress = first === '--api' && words.length > 2 && /^https?:/i.test(second);
  return words.slice(hasAddress ? 2 : 1);
}

interface Place {
  readonly command: string;
  /** Words behind the command, before the one that is being typed. */
  readonly before: readonly string[];
  readonly typed: string;
  readonly sources: CompletionSources;
}

async function wordsFor(place: Place): Promise<readonly string[]> {
  const { command, before, typed, sources } = place;
  const options = optionsIn(await sources.helpOf(command));
  const last = before.at(-1) ?? '';
  const configDir = configDirIn(before);
  if (typed.startsWith('-')) {
    const equals = typed.indexOf('=');
    if (equals < 0) return [...options.keys()];
    const name = typed.slice(0, equals);
    return (VALUES.get(name) ?? []).map((value) => `${name}=${value}`);
  }
  if (command === 'key') {
    const which = KEY_IDS.get(last);
    if (which !== undefined) return joined(typed, await sources.ids(which, configDir));
    if (last === '-l') return VALUES.get('--list') ?? [];
  }
  if (options.get(last) === true) return VALUES.get(last === '-l' ? '--log-level' : last) ?? [];
  return positional(place, argumentsIn(before, options), configDir);
}

async function positional(
  { command, before, typed, sources }: Place,
  given: number,
  configDir: string | undefined,
): Promise<readonly string[]> {
  if (command === 'run') return given === 0 ? sources.runners() : [];
  if (command === 'call') return given === 0 ? sources.functions(configDir) : [];
  if (command === 'completion') return given === 0 ? ['bash', 'zsh', 'fish', 'refresh'] : [];
  if (command !== 'salt' && command !== 'cp') return [];
  if (given === 0) {
    if (hasFlag(before, 'N', '--nodegroup')) return sources.nodegroups(configDir);
    const ids = await sources.ids('accepted', configDir);
    return hasFlag(before, 'L', '--list') ? joined(typed, ids) : ids;
  }
  if (command === 'cp' || given > 1) return [];
  return joined(typed, await sources.functions(configDir));
}

/** Completes the last of several words that commas join. */
function joined(typed: string, words: readonly string[]): readonly string[] {
  const comma = typed.lastIndexOf(',');
  if (comma < 0) return words;
  const before = typed.slice(0, comma + 1);
  return words.map((word) => before + word);
}

function hasFlag(words: readonly string[], letter: string, long: string): boolean {
  return words.some((word) => word === long || new RegExp(`^-[A-Za-z]*${letter}`).test(word));
}

/** The options of a help page; true for those that take a value. */
function optionsIn(page: string): Map<string, boolean> {
  const options = new Map<string, boolean>();
  for (const line of page.split('\n')) {
    const names = /^ {2,4}(-\S.*?)(?: {2,}|$)/.exec(line)?.[1];
    for (const name of names?.split(', ') ?? []) {
      const parts = /^(--?[A-Za-z][\w-]*)([= ].+)?$/.exec(name);
      if (parts?.[1] !== undefined) options.set(parts[1], parts[2] !== undefined);
    }
  }
  return options;
}

/** Number of words that are neither options nor their values. */
function argumentsIn(before: readonly string[], options: ReadonlyMap<string, boolean>): number {
  let count = 0;
  before.forEach((word, at) => {
    if (word.startsWith('-') && word.length > 1) return;
    if (options.get(before[at - 1] ?? '') !== true) count += 1;
  });
  return count;
}

function configDirIn(before: readonly string[]): string | undefined {
  for (const [at, word] of before.entries()) {
    if (word === '-c' || word === '--config-dir') return before[at + 1];
    if (word.startsWith('--config-dir=')) return word.slice('--config-dir='.length);
    if (/^-c./.test(word)) return word.slice(2);
  }
  return undefined;
}
