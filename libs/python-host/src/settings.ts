/** The uses of modules. Each use has processes of its own, so that it harms no other. */
export type PythonUse = 'runner' | 'pillar' | 'render' | 'output' | 'return';

/** The settings of the host of Salt's Python. */
export interface PythonSettings {
  /** Path of the interpreter, `brine.python`. */
  readonly python: string;
  /** The configuration file of the master, which Salt reads too. */
  readonly configFile: string;
  /** Limit of the address space of each process. */
  readonly memoryBytes: number;
  /** Longest run of a runner or wheel, in ms. */
  readonly runnerMs: number;
}

/** Output in another encoding would end a module at its first print. */
export const UTF8_OUTPUT = { PYTHONIOENCODING: 'utf-8:replace' } as const;

/** Bounds of a use. */
export interface UseLimits {
  /** Processes at once. */
  readonly processes: number;
  /** Longest call, in ms; undefined: that of the settings. */
  readonly callMs: number | undefined;
}

/** A minion waits 45 s for a pillar, so its parts get less. */
const PILLAR_MS = 40_000;

/** Bounds of each use. */
export const USES: Readonly<Record<PythonUse, UseLimits>> = {
  runner: { processes: 4, callMs: undefined },
  pillar: { processes: 2, callMs: PILLAR_MS },
  render: { processes: 2, callMs: PILLAR_MS },
  output: { processes: 1, callMs: 30_000 },
  return: { processes: 1, callMs: 60_000 },
};

/** Bounds that all uses share. Times in ms. */
export const LIMITS = {
  /** Bytes of a request, and of an answer; host.py has the same. */
  messageBytes: 64 * 1024 * 1024,
  /** Calls of a use that wait for a process, and for how long. */
  waiting: 64,
  waitMs: 30_000,
  /** Events that one call may fire; further ones are dropped. */
  events: 10_000,
  /** From the start of the interpreter until its Salt is loaded. */
  startMs: 60_000,
  /** From the end of a process until its output is no longer read. */
  lastWordsMs: 1_000,
  /** An idle process ends after this. */
  idleMs: 600_000,
  /** Waits before a start, after processes that ended by themselves. */
  backoff: { firstMs: 200, longestMs: 10_000 },
  /** Lines that modules print: how many in a minute, and their length. */
  linesPerMinute: 200,
  lineChars: 2_000,
} as const;
