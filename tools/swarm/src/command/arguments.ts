import { type Range, readOptions, UsageError, wholeNumber } from './read-options.ts';

/** The help page of the command. */
export const USAGE = `npm run swarm -- [options] <step> [<step> ...]

Simulated minions at a master, Brine or stock.

Steps, in order:
  connect     subscribe and log in every minion: from now on they answer jobs
  log-in      a storm of log-ins
  publish     one job, followed to its last acknowledgement
  publishes   a storm of publishes
  returns     a storm of returns (own job ids, or --jids)
  events      a storm of events
  stay        keep answering jobs until Ctrl-C
Exit code 0 where every step was complete.

  -c, --config-dir <dir>        whose ret_port, pki_dir and cachedir are taken (/etc/salt)
  --json                        results as JSON, with statistics
Minions:
  -n, --minions <n>             how many (100)
  -p, --processes <n>           in so many processes (1)
  --prefix <text>               ids are this and five digits (swarm-)
  --first <n>                   index of the first one (0)
  --payload-version <2|3>       of requests (3)
  --key-bits <2048|4096>        of their keys (2048)
  --key-pairs <n>               stored pairs they share (256, of 4096: 16)
  --open-every <n>              one reply in so many is checked (20)
  --scenario <file>             YAML or JSON with behaviours: see the README
  --log <file>                  append publications, returns, acknowledgements as JSON lines
Master:
  --host <address>              (127.0.0.1)
  --port <n>                    request port (ret_port)
  --publish-port <n>            (the one told at log-in)
  --pre-accept                  write the keys to pki_dir/minions beforehand
  --user <name>                 whose key file in cachedir publishes (root)
Load:
  --in-flight <n>               most requests on their way at once (64)
  --count <n>                   end after so many
  --duration <s>                end after so many seconds (10)
  --rate <n>                    per second, open loop (as fast as answered)
  --bytes <n>                   size of each return, or of the data of each event
  --jids <jid,…>                jobs to return to
Job:
  --target <target>             (*)
  --target-type <kind>          a list has commas between (glob)
  --fun <function>              (test.ping)
  --arg <text>                  its argument
  --wait <s>                    seconds to wait for all returns (30)
  --help
`;

const text = { type: 'string' } as const;
const flag = { type: 'boolean' } as const;
const OPTIONS = {
  'config-dir': { type: 'string', short: 'c' },
  json: flag,
  minions: { type: 'string', short: 'n' },
  processes: { type: 'string', short: 'p' },
  prefix: text,
  first: text,
  'payload-version': text,
  'key-bits': text,
  'key-pairs': text,
  'open-every': text,
  scenario: text,
  log: text,
  host: text,
  port: text,
  'publish-port': text,
  'pre-accept': flag,
  user: text,
  'in-flight': text,
  count: text,
  duration: text,
  rate: text,
  bytes: text,
  jids: text,
  target: text,
  'target-type': text,
  fun: text,
  arg: text,
  wait: text,
  help: flag,
} as const;

const MILLION = 1_000_000;
const PORT = [1, 65_535] as const;

/** What the command was asked for; undefined where the default of a step counts. */
export type SwarmArguments = ReturnType<typeof readArguments>;

/** Reads the arguments. Throws UsageError for unknown options, and numbers out of their range. */
export function readArguments(args: readonly string[]) {
  const { values, positionals: steps } = readOptions(args, OPTIONS, 'arguments too');
  const number = (name: keyof typeof OPTIONS, range: Range): number =>
    wholeNumber(name, asText(values[name]), range);
  const numberIf = (name: keyof typeof OPTIONS, [least, most]: readonly [number, number]) =>
    values[name] === undefined ? undefined : number(name, [least, most, least]);
  return {
    steps,
    help: values.help ?? false,
    json: values.json ?? false,
    configDir: values['config-dir'],
    minions: number('minions', [1, MILLION, 100]),
    processes: number('processes', [1, 64, 1]),
    prefix: values.prefix ?? 'swarm-',
    first: number('first', [0, MILLION, 0]),
    payloadVersion: number('payload-version', [2, 3, 3]) as 2 | 3,
    keyBits: oneOf('key-bits', values['key-bits'], ['2048', '4096']) === '4096' ? 4096 : 2048,
    keyPairs: numberIf('key-pairs', [1, 100_000]),
    openEvery: number('open-every', [1, MILLION, 20]),
    scenario: values.scenario,
    log: values.log,
    host: values.host ?? '127.0.0.1',
    port: numberIf('port', PORT),
    publishPort: numberIf('publish-port', PORT),
    preAccept: values['pre-accept'] ?? false,
    user: values.user ?? 'root',
    inFlight: numberIf('in-flight', [1, MILLION]),
    count: numberIf('count', [1, 1_000 * MILLION]),
    seconds: seconds('duration', values.duration),
    rate: seconds('rate', values.rate),
    bytes: numberIf('bytes', [0, 1_000 * MILLION]),
    jids: values.jids?.split(',') ?? [],
    target: values.target ?? '*',
    targetType: values['target-type'] ?? 'glob',
    fun: values.fun ?? 'test.ping',
    arg: values.arg === undefined ? [] : [values.arg],
    waitSeconds: seconds('wait', values.wait) ?? 30,
  } as const;
}

function asText(value: string | boolean | undefined): string | undefined {
  return typeof value === 'string' ? value : undefined;
}

function oneOf(name: string, value: string | undefined, known: readonly string[]): string {
  const [first = ''] = known;
  if (value === undefined) return first;
  if (!known.includes(value)) throw new UsageError(`--${name} is one of ${known.join(', ')}`);
  return value;
}

function seconds(name: string, value: string | undefined): number | undefined {
  if (value === undefined) return undefined;
  const number = Number(value);
  if (!(number > 0 && number < MILLION)) throw new UsageError(`--${name} is a number above 0`);
  return number;
}
