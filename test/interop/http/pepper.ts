import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { runProgram } from '@brine/testing';
import { packageBeside } from '@brine/testing/packages';
import type { Lab } from '../transcripts/lab.ts';

const PEPPER = 'salt-pepper==0.7.6';
/** The newest with `pkg_resources`, which pepper imports. */
const NEEDS = ['setuptools==80.9.0'];
const LIMIT_MS = 120_000;
const LOG_TIME = /\d{4}-\d\d-\d\d \d\d:\d\d:\d\d,\d{3}/g;

/** What pepper is run with; `@HOME@` in an argument stands for its home. */
export interface PepperCase {
  readonly name: string;
  /** One run, or more that share a home. */
  readonly runs: readonly (readonly string[])[];
  readonly env?: Readonly<Record<string, string>>;
  /** Files of its home; `@URL@` stands for the address. */
  readonly files?: Readonly<Record<string, string>>;
  /** True where it prints by Salt's outputters, as beside a Salt. */
  readonly withSalt?: boolean;
  /** How the runs end; default all with 0. */
  readonly exits?: readonly number[];
}

/** What one run of pepper gave. */
export interface PepperRun {
  readonly exit: number;
  readonly stdout: string;
  readonly stderr: string;
}

const LOG_IN = {
  SALTAPI_USER: 'api',
  SALTAPI_PASS: 'lab-secret',
  SALTAPI_EAUTH: 'sharedsecret',
};

/** Runs a case of pepper against a server on a port of this host. */
export async function runPepper(
  lab: Lab,
  port: number,
  { runs, env = LOG_IN, files = {}, withSalt = false }: PepperCase,
  home: string,
): Promise<readonly PepperRun[]> {
  const packages = await packageBeside(lab.venv, PEPPER, NEEDS);
  const url = `http://127.0.0.1:${port}/`;
  await mkdir(home, { recursive: true });
  for (const [name, text] of Object.entries(files)) {
    await writeFile(join(home, name), text.replaceAll('@URL@', url));
  }
  const seen: PepperRun[] = [];
  for (const args of runs) {
    // Without the packages of the environment there is no Salt, as on most hosts with pepper.
    const python = withSalt ? [] : ['-S'];
    const urlOf = '.pepperrc' in files ? {} : { SALTAPI_URL: url };
    const { code, stdout, stderr } = await runProgram(
      lab.venv.python,
      [
        ...python,
        join(packages, 'bin', 'pepper'),
        ...args.map((arg) => arg.replaceAll('@HOME@', home)),
      ],
      {
        env: {
          ...lab.sandbox.env(),
          ...urlOf,
          ...env,
          HOME: home,
          PYTHONPATH: packages,
          PYTHONWARNINGS: 'ignore',
        },
        timeoutMs: LIMIT_MS,
      },
    );
    const shown = (text: string): string =>
      text.replaceAll(url, '@URL@').replaceAll(home, '@HOME@').replace(LOG_TIME, '<TIME>');
    seen.push({ exit: code, stdout: shown(stdout), stderr: shown(stderr) });
  }
  return seen;
}

function one(
  name: string,
  args: readonly string[],
  more: Omit<PepperCase, 'name' | 'runs'> = {},
): PepperCase {
  return { name, runs: [args], ...more };
}

/** The configuration file of a user's profile. */
function fileOf(profile: string, user: string): Readonly<Record<string, string>> {
  const lines = [
    `[${profile}]`,
    'SALTAPI_URL=@URL@',
    `SALTAPI_USER=${user}`,
    'SALTAPI_PASS=lab-secret',
    'SALTAPI_EAUTH=sharedsecret',
  ];
  return { '.pepperrc': `${lines.join('\n')}\n` };
}

/** Targets, clients, log-ins, and the ends of runs. */
export const PEPPER_CASES: readonly PepperCase[] = [
  one('local', ['web*', 'test.echo', 'x']),
  one('-L', ['-L', 'web1.example,db1.example', 'test.ping']),
  one('-G', ['-G', 'role:web', 'test.ping']),
  one('--grain-pcre', ['--grain-pcre', 'role:w.b', 'test.ping']),
  one('-C', ['-C', 'G@role:web and not web2.example', 'test.ping']),
  one('-N', ['-N', 'web', 'test.ping']),
  one('-E', ['-E', 'web[12].*', 'test.ping']),
  one('-I', ['-I', 'nosuch:x', 'test.ping']),
  one('--pillar-pcre', ['--pillar-pcre', 'nosuch:x', 'test.ping'], { exits: [1] }),
  one('-R', ['-R', 'x', 'test.ping']),
  one('--batch', ['--batch', '1', 'web*', 'test.ping']),
  one('keywords', ['web1.example', 'lab.args', 'a', 'b=2', 'c=[1, 2]']),
  one('no match', ['nosuch', 'test.ping']),
  one('unknown function', ['web1.example', 'nosuch.x']),
  one('local_async', ['--client=local_async', 'web1.example', 'test.ping']),
  one('runner', ['--client=runner', 'test.arg', 'a=1', 'b=x']),
  one('runner with arguments', ['--client=runner', 'test.arg', '1', 'b']),
  one('runner_async', ['--client=runner_async', 'test.arg', 'a=1']),
  one('unknown runner', ['--client=runner', 'nosuch.x'], { exits: [1] }),
  one('wheel', ['--client=wheel', 'key.finger', 'match=nosuch']),
  one('wheel with arguments', ['--client=wheel', 'key.finger', 'nosuch']),
  one('a client that is not enabled', ['--client=ssh', 'web*', 'test.ping'], { exits: [1] }),
  one('--json', [
    '--json',
    '[{"client": "local", "tgt": "web1.example", "fun": "test.echo", "arg": ["j"]}]',
  ]),
  one('--json-file', ['--json-file', '@HOME@/low.json'], {
    files: { 'low.json': '[{"client": "runner", "fun": "test.arg", "kwarg": {"a": 1}}]' },
  }),
  one('--output-file', ['--output-file', '@HOME@/out.txt', 'web1.example', 'test.ping']),
  one('-t', ['-t', '7', 'web1.example', 'test.ping']),
  one('-v', ['-v', 'web1.example', 'test.ping']),
  one('-r', ['-r', 'web1.example', 'test.ping']),
  one('-r with a runner', ['-r', '--client=runner', 'test.arg', 'a=1']),
  {
    name: '-T',
    runs: [
      ['-T', 'web1.example', 'test.ping'],
      ['-T', '--password', 'wrong', 'web1.example', 'test.ping'],
    ],
  },
  {
    name: '-T -r -x',
    runs: [
      ['-T', '-r', '-x', '@HOME@/token', 'web1.example', 'test.ping'],
      ['-T', '-r', '-x', '@HOME@/token', '--password', 'wrong', 'web1.example', 'test.ping'],
    ],
  },
  one('-T with a broken file', ['-T', '-x', '@HOME@/token', 'web1.example', 'test.ping'], {
    files: { token: '{' },
  }),
  one('--token-expire', ['--token-expire', '60', 'web1.example', 'test.ping']),
  one('a wrong password', ['--password', 'wrong', 'web1.example', 'test.ping'], { exits: [1] }),
  one('an unknown module', ['-a', 'nosuch', 'web1.example', 'test.ping'], { exits: [1] }),
  one('a limited user', ['--username', 'pinger', 'web*', 'test.ping']),
  one('a refused call', ['--username', 'pinger', '*', 'test.ping'], { exits: [1] }),
  one('a refused runner', ['--username', 'pinger', '--client=runner', 'test.arg'], { exits: [1] }),
  one(
    'options for all',
    [
      '-a',
      'sharedsecret',
      '--username',
      'api',
      '--password',
      'lab-secret',
      'web1.example',
      'test.ping',
    ],
    { env: {} },
  ),
  one('no user', ['--non-interactive', 'web1.example', 'test.ping'], { env: {}, exits: [1] }),
  one('~/.pepperrc', ['web1.example', 'test.ping'], { env: {}, files: fileOf('main', 'api') }),
  one('another profile', ['-p', 'limited', 'web1.example', 'test.ping'], {
    env: {},
    files: fileOf('limited', 'pinger'),
  }),
  one('--fail-if-incomplete', ['--fail-if-incomplete', 'web*', 'test.ping']),
  one(
    '--fail-if-incomplete with a silent minion',
    ['--fail-if-incomplete', '-t', '4', '-L', 'web1.example,dead1.example', 'test.ping'],
    { exits: [1] },
  ),
  ...(
    [
      ['--fail-any', [0, 3, 1, 0]],
      ['--fail-any-none', [0, 3, 1, 255]],
      ['--fail-all', [0, 3, 0, 0]],
      ['--fail-all-none', [0, 3, 0, 255]],
    ] as const
  ).map(([option, exits]): PepperCase => ({
    name: option,
    // All good, all bad, one of two bad, none at all.
    runs: [
      [option, 'web*', 'test.ping'],
      [option, 'web1.example', 'lab.retcode', '3'],
      [option, '-L', 'web1.example,dead1.example', 'test.ping'],
      [option, 'nosuch', 'test.ping'],
    ],
    withSalt: true,
    exits,
  })),
  one('outputter', ['web1.example', 'lab.args', 'a'], { withSalt: true }),
  one('-o', ['-o', 'yaml', 'web*', 'test.ping'], { withSalt: true }),
  one('-m', ['-m', '@HOME@/master', 'web1.example', 'test.ping'], {
    withSalt: true,
    files: { master: 'output: json\n' },
  }),
  one('runner with an outputter', ['--client=runner', 'test.arg', 'a=1'], { withSalt: true }),
  one('wheel with an outputter', ['--client=wheel', 'key.finger', 'match=nosuch'], {
    withSalt: true,
  }),
];
