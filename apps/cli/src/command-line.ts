import { basename } from 'node:path';
import { isSystemError } from '@brine/files';
import { EXIT, Exit, HelpExit, unhandled } from './exit-codes.ts';
import { deniedAdvice } from './in-words.ts';
import { LINK_NAMES } from './link-names.ts';
import type { ApiOption } from './master-place.ts';
import type { CommandForm } from './options/command-form.ts';
import { BRINE_VERSION } from './options/common-groups.ts';
import { ProcessTerminal, type Terminal } from './terminal.ts';

/** Runs a command and returns its exit code. */
type Command = (args: readonly string[], terminal: Terminal, api?: ApiOption) => Promise<number>;

interface Entry {
  readonly help: string;
  /** True if it works on a master behind an API too. */
  readonly byApi?: true;
  /** Imported when called, so that a command does not load the code of others. */
  readonly load: () => Promise<Command>;
}

const COMMANDS: ReadonlyMap<string, Entry> = new Map<string, Entry>([
  [
    'salt',
    {
      help: 'run a function on minions and show what they return',
      byApi: true,
      load: async () => (await import('./commands/salt.ts')).runSalt,
    },
  ],
  [
    'key',
    {
      help: 'list, accept, reject, delete minion keys (sync: does key sync run?)',
      byApi: true,
      load: async () => (await import('./commands/key.ts')).runKey,
    },
  ],
  [
    'run',
    {
      help: 'look up jobs, see which minions are up',
      byApi: true,
      load: async () => (await import('./commands/run.ts')).runRunner,
    },
  ],
  [
    'cp',
    {
      help: 'copy files of this host to minions',
      load: async () => (await import('./commands/cp.ts')).runCopy,
    },
  ],
  [
    'call',
    {
      help: 'run a function here, as the minion of this host',
      load: async () => (await import('./commands/call.ts')).runCall,
    },
  ],
  [
    'master',
    {
      help: 'start all services of a master on this host',
      load: async () => (await import('./commands/master.ts')).startMaster,
    },
  ],
  [
    'minion',
    {
      help: 'start a minion in the foreground',
      load: async () => (await import('./commands/minion.ts')).runMinion,
    },
  ],
  [
    'status',
    {
      help: 'show the services of the master on this host (--all: of all hosts)',
      byApi: true,
      load: async () => (await import('./commands/operations/status.ts')).runStatus,
    },
  ],
  [
    'top',
    {
      help: 'watch services, queues, jobs and minions of all hosts',
      byApi: true,
      load: async () => (await import('./commands/operations/top.ts')).runTopCommand,
    },
  ],
  [
    'restart',
    {
      help: 'replace the services of this host one by one, under load, as after an upgrade',
      load: async () => (await import('./commands/restart.ts')).runRestart,
    },
  ],
  [
    'events',
    {
      help: 'show the events of the cluster, live or from any time that is kept',
      byApi: true,
      load: async () => (await import('./commands/events.ts')).runEvents,
    },
  ],
  [
    'console',
    {
      help: 'print an address of the HTTP API that logs you in, good once',
      load: async () => (await import('./commands/console.ts')).runConsole,
    },
  ],
  [
    'trace',
    {
      help: 'show the way of one job through all services',
      byApi: true,
      load: async () => (await import('./commands/trace.ts')).runTrace,
    },
  ],
  [
    'login',
    {
      help: 'log in at the HTTP API of a master elsewhere, for brine --api',
      load: async () => (await import('./commands/login.ts')).runLogin,
    },
  ],
  [
    'logout',
    {
      help: 'end a session of brine login',
      load: async () => (await import('./commands/logout.ts')).runLogout,
    },
  ],
  [
    'doctor',
    {
      help: 'find problems that expose the master of this host, or will stop it',
      load: async () => (await import('./commands/operations/doctor.ts')).runDoctor,
    },
  ],
  [
    'support-bundle',
    {
      help: 'write a file for support, without secrets',
      load: async () => (await import('./commands/operations/support-bundle.ts')).runSupportBundle,
    },
  ],
  [
    'config',
    {
      help: 'show the options in force and where they come from; explain an option',
      load: async () => (await import('./commands/config.ts')).runConfig,
    },
  ],
  [
    'pki',
    {
      help: 'make, renew and show the certificates by which services and NATS know each other',
      load: async () => (await import('./commands/pki.ts')).runPki,
    },
  ],
  [
    'postgres',
    {
      help: 'bring the schema up to this release and give roles their rights (roles)',
      load: async () => (await import('./commands/postgres.ts')).runPostgres,
    },
  ],
  [
    'migrate',
    {
      help: 'bring keys, minion data and history from a stock master, or back to one',
      load: async () => (await import('./commands/operations/migrate.ts')).runMigrate,
    },
  ],
  [
    'backup',
    {
      help: "write all that is the master's own into one file, while it runs",
      load: async () => (await import('./commands/operations/backup.ts')).runBackup,
    },
  ],
  [
    'restore',
    {
      help: 'restore a backup to a host that is no master',
      load: async () => (await import('./commands/operations/restore.ts')).runRestore,
    },
  ],
  [
    'completion',
    {
      help: 'print the completion script of a shell: bash, zsh or fish',
      load: async () => {
        const { runCompletion } = await import('./commands/completion.ts');
        const program = { commands: [...COMMANDS.keys()], run: runCommandLine };
        return (args, terminal) => runCompletion(program, args, terminal);
      },
    },
  ],
  [
    'demo',
    {
      help: 'start a master and two minions, run three jobs, stop (--stay: keep running)',
      load: async () => (await import('./commands/demo.ts')).runDemo,
    },
  ],
]);

/** A command as its manual page shows it. */
export interface CommandManual {
  /** `key`; `key sync` for a command below another. */
  readonly name: string;
  readonly help: string;
  readonly form: CommandForm;
}

/**
 * All commands with the forms that their option parsers use: the one source of manual pages.
 * @throws Error if a command answers `--help` without an option parser
 */
export async function commandManuals(): Promise<CommandManual[]> {
  const manuals: CommandManual[] = [];
  const terminal = new ProcessTerminal();
  const add = async (name: string, help: string, command: Command): Promise<void> => {
    manuals.push({ name, help, form: await formOf(name, command, terminal) });
  };
  for (const [name, { help, load }] of COMMANDS) {
    await add(name, help, await load());
    if (name !== 'key') continue;
    const { runKeySync } = await import('./commands/key-sync.ts');
    await add('key sync', 'show whether changes of key files take effect', runKeySync);
  }
  return manuals;
}

async function formOf(name: string, command: Command, terminal: Terminal): Promise<CommandForm> {
  try {
    await command(['--help'], terminal);
  } catch (error) {
    if (error instanceof HelpExit && error.form !== undefined) return error.form;
    throw error;
  }
  throw new Error(`${name} --help does not come from its option parser`);
}

/** Runs this process as the command that its arguments name, and ends it. */
export async function runProcess([, script = 'brine', ...args]: readonly string[]): Promise<never> {
  const terminal = new ProcessTerminal();
  const code = await runCommandLine(basename(script), args, terminal);
  // A pipe may take the rest of the output later; an earlier exit would truncate it.
  await terminal.flush();
  // Sockets and timers of libraries must not keep a finished command alive.
  process.exit(code);
}

/**
 * Runs the command named by the program's name or its first argument.
 * @param program the name it was called by: `brine`, or a link called `salt`, `salt-key`, …
 */
export async function runCommandLine(
  program: string,
  args: readonly string[],
  terminal: Terminal,
): Promise<number> {
  const linked = LINK_NAMES.get(program);
  const { api, words } = linked === undefined ? apiIn(args) : { api: apiOfEnv(), words: args };
  const [first, ...rest] = words;
  const name = linked ?? first;
  try {
    if (name === undefined || name === '--help' || name === '-h' || name === 'help') {
      terminal.out(overview());
      return name === undefined ? EXIT.usage : EXIT.ok;
    }
    if (name === '--version') {
      terminal.out(`brine ${BRINE_VERSION}\n`);
      return EXIT.ok;
    }
    const entry = COMMANDS.get(LINK_NAMES.get(name) ?? name);
    if (entry === undefined) {
      terminal.err(`Usage: brine <command> [options]\n\nbrine: error: no such command: ${name}\n`);
      return EXIT.usage;
    }
    const own = linked === undefined ? rest : args;
    if (name === 'key' && own[0] === 'sync') {
      if (api?.isAsked === true) throw notByApi('key sync');
      const { runKeySync } = await import('./commands/key-sync.ts');
      return await runKeySync(own.slice(1), terminal);
    }
    if (api?.isAsked === true && entry.byApi !== true) throw notByApi(name);
    const command = await entry.load();
    return await command(own, terminal, entry.byApi === true ? api : undefined);
  } catch (error) {
    if (linked === undefined && isDenied(error)) {
      terminal.err(`brine ${name ?? ''}: ${error.message}: ${deniedAdvice()}\n`);
      return EXIT.generic;
    }
    return codeOf(inOneLine(error, name), args, terminal);
  }
}

/** `--api` and `--api=URL` before a command; the address may also be a word of its own. */
function apiIn(args: readonly string[]): {
  readonly api: ApiOption | undefined;
  readonly words: readonly string[];
} {
  const [first = '', second = '', ...rest] = args;
  if (first.startsWith('--api=')) {
    return { api: { url: first.slice('--api='.length), isAsked: true }, words: args.slice(1) };
  }
  if (first !== '--api') return { api: apiOfEnv(), words: args };
  if (/^https?:\/\//i.test(second)) return { api: { url: second, isAsked: true }, words: rest };
  return { api: { url: undefined, isAsked: true }, words: args.slice(1) };
}

function apiOfEnv(): ApiOption | undefined {
  const url = process.env['BRINE_API'];
  return url ? { url, isAsked: false } : undefined;
}

function notByApi(name: string): Exit {
  const names = [...COMMANDS].flatMap(([one, { byApi }]) => (byApi === true ? [one] : []));
  const text = `${name} works on this host alone; with --api: ${names.join(', ')}`;
  return new Exit(EXIT.usage, `brine: error: ${text}\n`);
}

/** Turns an error about a path of another user into one line, which names the remedy. */
function inOneLine(error: unknown, name: string | undefined): unknown {
  if (!(error instanceof Error) || !isOfOthers(error)) return error;
  return new Exit(EXIT.generic, `brine ${name ?? ''}: ${error.message}\n`);
}

function isOfOthers(error: unknown): boolean {
  return isSystemError(error, 'BRINE_PATH_OF_OTHERS');
}

/** A file of the master that this user may not read or write. */
function isDenied(error: unknown): error is Error {
  if (!(error instanceof Error) || isOfOthers(error)) return false;
  return [error, error.cause].some((one) => isSystemError(one, 'EACCES'));
}

/** Returns the exit code for an error. A stack is shown only with --hard-crash. */
function codeOf(error: unknown, args: readonly string[], terminal: Terminal): number {
  if (error instanceof HelpExit) terminal.out(error.page);
  if (error instanceof Exit) {
    terminal.err(error.text);
    return error.code;
  }
  const known = error instanceof Error ? error : new Error(String(error));
  const crash = args.includes('--hard-crash') || process.env['BRINE_STACKS'] === '1';
  return unhandled(
    terminal,
    crash ? (known.stack ?? known.message) : `${known.name}: ${known.message}`,
  ).code;
}

function overview(): string {
  const lines = [...COMMANDS].map(([name, { help }]) => `  ${name.padEnd(16)}${help}`);
  return [
    'Usage: brine [--api[=URL]] <command> [options]',
    '',
    'A Salt master that scales sideways, and its tools.',
    '',
    'Commands:',
    ...lines,
    '',
    '--api, or BRINE_API=URL: the command works on a master elsewhere, through its HTTP API, with',
    'the session of `brine login`. Without URL: SALTAPI_URL, the last log-in, or ~/.pepperrc.',
    '',
    'For more, see `brine <command> --help`. Called through a link named salt, salt-key, salt-run,',
    'salt-cp, salt-call, salt-master or salt-minion, it behaves as that command.',
    '',
  ].join('\n');
}
