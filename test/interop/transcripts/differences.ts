import type { TestedTools } from './tools.ts';

/** A recorded case that differs on purpose. */
export interface Difference {
  readonly name: string;
  readonly tools: TestedTools;
  readonly what: string;
  readonly why: string;
  /** True if the exit code is another one too. */
  readonly exits: boolean;
}

interface Group extends Omit<Difference, 'name' | 'tools' | 'exits'> {
  readonly tools: readonly TestedTools[];
  readonly exits?: boolean;
  readonly names: readonly string[];
}

/** Cases with one reason each, in the order of the docs. */
const GROUPS: readonly Group[] = [
  {
    tools: ['brine'],
    what: 'no Python stack',
    why: 'Brine is not written in Python; it prints the error line alone',
    names: [
      'batch/invalid',
      'option-errors/salt-run-master-down',
      'outputters/key-ping',
      'outputters/out-file-unwritable',
      'salt-key/accept-ask-eof',
    ],
  },
  {
    tools: ['brine'],
    what: 'prints what 3006 prints',
    why: '3008 dropped this outputter; scripts use it',
    names: [
      'outputters/newline_values_only-nested',
      'outputters/newline_values_only-ping',
      'outputters/quiet-fail',
      'outputters/quiet-ping',
      'salt-key/list-all-quiet',
    ],
  },
  {
    tools: ['brine'],
    what: 'one pair, mode 0644 of the public key, and its fingerprint',
    why: '3008.2 writes two more pairs and fails to print it; 3006 as Brine',
    names: ['salt-key/gen-keys', 'salt-key/gen-keys-new-dir'],
  },
  {
    tools: ['brine'],
    what: 'the job is found',
    why: 'stock Salt fails if the job cache has a job of several functions',
    names: [
      'runner-jobs/last-run-with-compound-job',
      'runner-jobs/list-jobs-function-with-compound-job',
    ],
  },
  {
    tools: ['brine'],
    what: 'the documentation',
    why: 'texts of documentation are our own',
    names: ['runner-jobs/list-jobs-bad-kw', 'runner/doc', 'runner/no-function'],
  },
  {
    tools: ['brine'],
    what: 'one more line on stderr',
    why: 'nothing is ignored silently',
    names: ['option-errors/salt-loglevel-info', 'runner/doc-unknown'],
  },
  {
    tools: ['brine'],
    what: 'no such command',
    why: 'the master serves the HTTP API by itself',
    exits: true,
    names: ['option-errors/salt-api-help'],
  },
  {
    tools: ['brine'],
    what: 'no warning about the echo',
    why: 'the warning is of a module of Python',
    names: ['waiting/eauth-prompt'],
  },
  {
    tools: ['brine'],
    what: 'another first line of the Python stack',
    why: 'Brine starts this salt-call by the interpreter of brine.python',
    names: ['salt-call/boom-value'],
  },
  {
    tools: ['salt 3008', 'salt 3006'],
    what: "two more local keys: the master's key under both names",
    why: 'tools of 3006 look for master.pem, those of 3008 for the name of the host',
    names: ['salt-key/finger-all-live'],
  },
];

/** All wanted differences, as docs/differences.md lists them. */
export const DIFFERENCES: readonly Difference[] = GROUPS.flatMap(
  ({ names, tools, exits = false, what, why }) =>
    names.flatMap((name) => tools.map((one) => ({ name, tools: one, what, why, exits }))),
);

/** The differences of one set of tools, by the name of the case. */
export function differencesOf(tools: TestedTools): ReadonlyMap<string, Difference> {
  const those = DIFFERENCES.filter((one) => one.tools === tools);
  return new Map(those.map((one) => [one.name, one]));
}

/** The table of docs/differences.md. */
export function differenceTable(): string {
  const rows = GROUPS.flatMap(({ names, tools, what, why }) =>
    names.map((name) => `| \`${name}\` | ${tools.join(', ')} | ${what} | ${why} |`),
  );
  return ['| case | commands | what differs | why |', '| --- | --- | --- | --- |', ...rows].join(
    '\n',
  );
}
