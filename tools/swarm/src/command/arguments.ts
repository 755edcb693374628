import { drawOptions, flag, type Given, oneOf, short, text, whole } from '../options/index.ts';
import { decimal } from '../options/index.ts';

const MILLION = 1_000_000;
const PORT = [1, 65_535] as const;

const GENERAL = {
  configDir: short(
    'c',
    text('<dir>', 'configuration with ret_port, pki_dir and cachedir (/etc/salt)'),
  ),
  json: flag('results as JSON, with statistics'),
};
const MINIONS = {
  minions: short('n', whole('<n>', 'number of minions', [1, MILLION, 100])),
  processes: short('p', whole('<n>', 'number of processes', [1, 64, 1])),
  prefix: text('<text>', 'ids are this and five digits', 'swarm-'),
  first: whole('<n>', 'index of the first one', [0, MILLION, 0]),
  payloadVersion: oneOf('of requests', [3, 2]),
  keyBits: oneOf('of their keys', [2048, 4096]),
  keyPairs: whole('<n>', 'stored pairs they share (256, of 4096: 16)', [1, 100_000]),
  openEvery: whole('<n>', 'check every n-th reply', [1, MILLION, 20]),
  scenario: text('<file>', 'YAML or JSON with behaviours: see the README'),
  log: text('<file>', 'append publications, returns, acknowledgements as JSON lines'),
};
const MASTER = {
  host: text('<address>', 'address of the master', '127.0.0.1'),
  port: whole('<n>', 'request port (ret_port)', PORT),
  publishPort: whole('<n>', '(the one that the log-in answers)', PORT),
  preAccept: flag('write the keys to pki_dir/minions beforehand'),
  user: text('<name>', 'user of the key file in cachedir for publishes', 'root'),
};
const LOAD = {
  inFlight: whole('<n>', 'maximum of requests in flight (64)', [1, MILLION]),
  count: whole('<n>', 'end after this number of requests', [1, 1_000 * MILLION]),
  duration: decimal('<s>', 'end after this number of seconds (10)', [0.001, MILLION]),
  rate: decimal('<n>', 'per second, open loop (as fast as answered)', [0.001, MILLION]),
  bytes: whole('<n>', 'size of each return, or of the data of each event', [0, 1_000 * MILLION]),
  jids: text('<jid,…>', 'jobs to return to'),
};
const JOB = {
  target: text('<target>', 'its minions', '*'),
  targetType: text('<kind>', 'a list has commas between', 'glob'),
  fun: text('<function>', 'what they run', 'test.ping'),
  arg: text('<text>', 'its argument'),
  wait: decimal('<s>', 'seconds to wait for all returns', [0.001, MILLION, 30]),
};

/** All options of the command. */
export const OPTIONS = { ...GENERAL, ...MINIONS, ...MASTER, ...LOAD, ...JOB };

/** Values of the options; undefined for the default of a step. */
export type SwarmArguments = Given<typeof OPTIONS>;

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

${drawOptions(GENERAL)}Minions:
${drawOptions(MINIONS)}Master:
${drawOptions(MASTER)}Load:
${drawOptions(LOAD)}Job:
${drawOptions(JOB)}`;
