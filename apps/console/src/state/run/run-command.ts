import { type ShellLine, shellWord } from '../shell-word.ts';
import { splitWords } from './command-words.ts';

/** The kinds of targets that a command line has an option for. */
export const TARGET_KINDS = [
  { type: 'glob', name: 'Glob', option: undefined, long: undefined, example: 'web*' },
  {
    type: 'compound',
    name: 'Compound',
    option: '-C',
    long: '--compound',
    example: 'G@os:Debian and web*',
  },
  { type: 'list', name: 'List', option: '-L', long: '--list', example: 'web1,web2' },
  { type: 'grain', name: 'Grain', option: '-G', long: '--grain', example: 'os:Debian' },
  {
    type: 'grain_pcre',
    name: 'Grain, expression',
    option: '-P',
    long: '--grain-pcre',
    example: 'os:(Debian|Ubuntu)',
  },
  { type: 'pillar', name: 'Pillar', option: '-I', long: '--pillar', example: 'role:web' },
  {
    type: 'pillar_pcre',
    name: 'Pillar, expression',
    option: '-J',
    long: '--pillar-pcre',
    example: 'role:w.*',
  },
  { type: 'pcre', name: 'Expression', option: '-E', long: '--pcre', example: 'web\\d+' },
  { type: 'nodegroup', name: 'Node group', option: '-N', long: '--nodegroup', example: 'web' },
  { type: 'ipcidr', name: 'Address', option: '-S', long: '--ipcidr', example: '10.0.0.0/8' },
  { type: 'range', name: 'Range', option: '-R', long: '--range', example: '%cluster' },
] as const;
export type TargetKind = (typeof TARGET_KINDS)[number]['type'];

/** What runs a function: minions, or the master itself. */
export type RunOf = 'module' | 'runner' | 'wheel';

/** A command as one types it: its arguments are words of a command line. */
export interface RunCommand {
  readonly of: RunOf;
  readonly tgt: string;
  readonly tgtType: TargetKind;
  readonly fun: string;
  readonly arg: readonly string[];
  /** Minions at a time; empty: all at once. */
  readonly size: string;
  readonly canary: string;
  readonly halt: string;
  /** Seconds between two minions. */
  readonly wait: string;
  readonly failhard: boolean;
  /** Seconds for which it is sent again to minions that are away. */
  readonly durable: string;
  /** Seconds after which a silent minion counts as never. */
  readonly deadline: string;
}

export const NO_COMMAND: RunCommand = {
  of: 'module',
  tgt: '',
  tgtType: 'glob',
  fun: '',
  arg: [],
  size: '',
  canary: '',
  halt: '',
  wait: '',
  failhard: false,
  durable: '',
  deadline: '',
};

/** A command line as a command, or why it is none; `left` are options about printing alone. */
export type ParsedCommand =
  | { readonly kind: 'command'; readonly command: RunCommand; readonly left: readonly string[] }
  | { readonly kind: 'problem'; readonly text: string };

type Field = 'size' | 'canary' | 'halt' | 'wait' | 'durable' | 'deadline';

const VALUES = new Map<string, Field>([
  ['-b', 'size'],
  ['--batch', 'size'],
  ['--batch-size', 'size'],
  ['--batch-canary', 'canary'],
  ['--batch-halt', 'halt'],
  ['--batch-wait', 'wait'],
  ['--durable', 'durable'],
  ['--metadata', 'deadline'],
]);
/** Options about what a terminal shows: without a value, and with one. */
const SHOWN_FLAGS = new Set(
  (
    '-v --verbose -p --progress --async --show-jid --summary --why --no-color --no-colour ' +
    '--force-color --force-colour --output-diff --hide-timeout'
  ).split(' '),
);
const SHOWN_VALUES = new Set(
  '-t --timeout --out --output -l --log-level --state-output --state_output -c --config-dir'.split(
    ' ',
  ),
);

/** Reads `salt …`, `salt-run …`, or the commands of SaltGUI: `runners.…` and `wheel.…`. */
export function parseCommand(line: string): ParsedCommand {
  const split = splitWords(line);
  if (split.kind === 'problem') return split;
  const words = split.words[0] === 'brine' ? split.words.slice(1) : split.words;
  const [first = ''] = words;
  const master = /^(runners|wheel)\.(.+)$/.exec(first);
  if (master !== null) {
    const of = master[1] === 'wheel' ? 'wheel' : 'runner';
    return whole({ ...NO_COMMAND, of, fun: master[2] ?? '', arg: words.slice(1) }, []);
  }
  if (first !== 'salt' && first !== 'salt-run') return problem('It begins with salt or salt-run');
  return new Reader(words.slice(1), first === 'salt').read();
}

class Reader {
  readonly #rest: string[];
  readonly #isSalt: boolean;
  readonly #plain: string[] = [];
  readonly #left: string[] = [];
  #command: RunCommand = NO_COMMAND;
  #kinds = 0;

  constructor(words: readonly string[], isSalt: boolean) {
    this.#rest = [...words];
    this.#isSalt = isSalt;
  }

  read(): ParsedCommand {
    for (let word = this.#rest.shift(); word !== undefined; word = this.#rest.shift()) {
      if (word === '--') this.#plain.push(...this.#rest.splice(0));
      else if (!word.startsWith('-') || word === '-') this.#plain.push(word);
      else {
        const wrong = this.#option(word);
        if (wrong !== undefined) return problem(wrong);
      }
    }
    if (this.#kinds > 1) return problem('It has more than one kind of target');
    if (!this.#isSalt) {
      const [fun = '', ...arg] = this.#plain;
      return whole({ ...NO_COMMAND, of: 'runner', fun, arg }, this.#left);
    }
    const [tgt = '', fun = '', ...arg] = this.#plain;
    if (tgt === '') return problem('It has no target');
    return whole({ ...this.#command, tgt, fun, arg }, this.#left);
  }

  /** @returns what is wrong with it */
  #option(word: string): string | undefined {
    const [, name = word, joined] = /^(--[^=]+)=([^]*)$/.exec(word) ?? [];
    const [short, rest] = word.startsWith('--')
      ? [name, joined]
      : [word.slice(0, 2), word.slice(2)];
    const value = (): string | undefined =>
      rest === undefined || rest === '' ? this.#rest.shift() : rest;
    if (SHOWN_VALUES.has(short)) return this.#leave(short, value());
    if (this.#isSalt && VALUES.has(short)) return this.#take(short, value());
    if (joined !== undefined) return `${name} is no option of this page`;
    // Short options without a value may stand together.
    const names = word.startsWith('--') ? [word] : [...word.slice(1)].map((one) => `-${one}`);
    for (const each of names) {
      const kind = TARGET_KINDS.find(({ option, long }) => each === option || each === long);
      if (SHOWN_FLAGS.has(each)) this.#left.push(each);
      else if (this.#isSalt && kind !== undefined) {
        this.#command = { ...this.#command, tgtType: kind.type };
        this.#kinds += 1;
      } else if (this.#isSalt && each === '--failhard') {
        this.#command = { ...this.#command, failhard: true };
      } else return `${each} is no option of this page`;
    }
    return undefined;
  }

  #leave(name: string, value: string | undefined): string | undefined {
    if (value === undefined) return `${name} has no value`;
    this.#left.push(`${name} ${value}`);
    return undefined;
  }

  #take(name: string, value: string | undefined): string | undefined {
    const field = VALUES.get(name);
    if (value === undefined || field === undefined) return `${name} has no value`;
    const text = READS[field]?.(value) ?? (READS[field] === undefined ? value : undefined);
    if (text === undefined) return `${name} can not be ${value} on this page`;
    this.#command = { ...this.#command, [field]: text };
    return undefined;
  }
}

/** What is kept of the values of some options; undefined for one that is not known here. */
const READS: { readonly [field in Field]?: (value: string) => string | undefined } = {
  durable: secondsOf,
  deadline: (value) => /^\{\s*"?brine_deadline"?:\s+(\d+)\s*\}$/.exec(value)?.[1],
};

const UNITS = new Map([
  ['', 1],
  ['s', 1],
  ['m', 60],
  ['h', 3_600],
  ['d', 86_400],
]);

function secondsOf(text: string): string | undefined {
  const [, number, unit = ''] = /^(\d+)([smhd]?)$/.exec(text) ?? [];
  const size = UNITS.get(unit);
  return number === undefined || size === undefined ? undefined : String(Number(number) * size);
}

function whole(command: RunCommand, left: readonly string[]): ParsedCommand {
  if (command.fun === '') return problem('It has no function');
  if (command.fun.includes(',')) return problem('This page runs one function at a time');
  return { kind: 'command', command, left };
}

function problem(text: string): ParsedCommand {
  return { kind: 'problem', text };
}

/** The equal command line; undefined for a wheel, which no command line runs. */
export function commandLine(command: RunCommand): ShellLine | undefined {
  const { of, fun, arg, tgt, tgtType } = command;
  if (of === 'wheel') return undefined;
  const call = [fun, ...arg].map(shellWord);
  // A word such as -1 would be an option.
  const isOption = [...arg, ...(of === 'module' ? [tgt] : [])].some((word) => word.startsWith('-'));
  const ends = isOption ? ['--'] : [];
  if (of === 'runner') return ['salt-run', ...ends, ...call].join(' ') as ShellLine;
  const kind = TARGET_KINDS.find(({ type }) => type === tgtType)?.option;
  const options = [...(kind === undefined ? [] : [kind]), ...howWords(command)];
  const target = `'${tgt.replaceAll("'", `'\\''`)}'`;
  return ['salt', ...options, ...ends, target, ...call].join(' ') as ShellLine;
}

function howWords(command: RunCommand): readonly string[] {
  const { size, canary, halt, wait, failhard, durable, deadline } = command;
  const of = (name: string, value: string) => (value === '' ? [] : [name, shellWord(value)]);
  const batch = [
    ...of('-b', size),
    ...of('--batch-canary', canary),
    ...of('--batch-halt', halt),
    ...of('--batch-wait', wait),
    ...(failhard ? ['--failhard'] : []),
  ];
  return [
    ...(size === '' ? of('--durable', durable === '' ? '' : `${durable}s`) : batch),
    ...of('--metadata', deadline === '' ? '' : `{brine_deadline: ${deadline}}`),
  ];
}
