/** What modules are used for. Each use has processes of its own, so that it harms no other. */
export type PythonUse = 'runner' | 'pillar' | 'render' | 'output' | 'return';

/** How the host of Salt's Python works. */
export interface PythonSettings {
  /** Path of the interpreter, `brine.python`. */
  readonly python: string;
  /** The file of the master, which Salt reads too. */
  readonly configFile: string;
  /** Address space of each process. */
  readonly memoryBytes: number;
  /** Longest run of a runner or wheel, in ms. */
  readonly runnerMs: number;
}

/** Output of another encoding would end a module at its first print. */
export const UTF8_OUTPUT = { PYTHONIOENCODING: 'utf-8:replace' } as const;

/** Bounds of a use. */
export interface UseLimits {
  /** Processes at once. */
  readonly processes: number;
  /** Longest call, in ms; undefined: that of the settings. */
  readonly callMs: number | undefined;
}

/** A minion waits 45 s for a pillar, so its parts have less. */
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
  /** Calls of a use that wait for a process, and how long they do. */
  waiting: 64,
  waitMs: 30_000,
  /** Events that one call may fire; more are left out. */
  events: 10_000,
  /** From the start of the interpreter until its Salt is loaded. */
  startMs: 60_000,
  /** From the end of a process until nothing more of it is read. */
  lastWordsMs: 1_000,
  /** After it a process without calls ends. */
  idleMs: 600_000,
  /** Waits before a start, after processes that ended by themselves. */
  backoff: { firstMs: 200, longestMs: 10_000 },
  /** Lines that modules print: how many in a minute, and their length. */
  linesPerMinute: 200,
  lineChars: 2_000,
} as const;
