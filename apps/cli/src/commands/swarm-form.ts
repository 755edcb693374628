import { BASE_OPTIONS } from '../options/common-groups.ts';
import { flag, text, type Option } from '../options/option.ts';
import type { CommandForm } from '../options/parser.ts';

function int(names: readonly string[], dest: string, help: string): Option {
  return { names, dest, kind: 'int', help };
}

function float(names: readonly string[], dest: string, help: string): Option {
  return { names, dest, kind: 'float', help };
}

function choice(name: string, dest: string, choices: readonly string[], help: string): Option {
  return { names: [name], dest, kind: 'choice', choices, help };
}

const DESCRIPTION = [
  'Simulated minions with real cryptography at a master, Brine or stock. Steps, in order:',
  '  connect     subscribe and log in every minion: from now on they answer jobs',
  '  log-in      a storm of log-ins',
  '  publish     one job, followed to its last acknowledgement',
  '  publishes   a storm of publishes',
  '  returns     a storm of returns (own job ids, or --jids)',
  '  events      a storm of events',
  '  stay        keep answering jobs until Ctrl-C',
  'Exit code 0 where every step was complete.',
].join('\n');

/** The options of `brine swarm`. */
export const SWARM_FORM: CommandForm = {
  prog: 'brine swarm',
  usage: '[options] <step> [<step> ...]',
  description: DESCRIPTION,
  version: '0.1.0',
  groups: [
    {
      title: 'Options',
      options: [...BASE_OPTIONS, flag(['--json'], 'json', 'Results as JSON, with statistics.')],
    },
    {
      title: 'Minions',
      options: [
        int(['-n', '--minions'], 'minions', 'How many. Default: 100.'),
        int(['-p', '--processes'], 'processes', 'In so many processes. Default: 1.'),
        text(['--prefix'], 'prefix', 'Ids are this and five digits. Default: swarm-'),
        int(['--first'], 'first', 'Index of the first one. Default: 0.'),
        choice('--payload-version', 'payload_version', ['2', '3'], 'Of requests. Default: 3.'),
        choice('--key-bits', 'key_bits', ['2048', '4096'], 'Of their keys. Default: 2048.'),
        int(['--key-pairs'], 'key_pairs', 'Stored pairs they share. Default: 256, of 4096: 16.'),
        int(['--open-every'], 'open_every', 'One reply in so many is checked. Default: 20.'),
        text(['--scenario'], 'scenario', 'YAML or JSON file with behaviours (see the README).'),
        text(['--log'], 'log', 'Append publications, returns, acknowledgements as JSON lines.'),
      ],
    },
    {
      title: 'Master',
      options: [
        text(['--host'], 'host', 'Default: 127.0.0.1.'),
        int(['--port'], 'port', 'Request port. Default: ret_port of the configuration.'),
        int(['--publish-port'], 'publish_port', 'Default: the one told at log-in.'),
        flag(['--pre-accept'], 'pre_accept', 'Write the keys to pki_dir/minions beforehand.'),
        text(['--user'], 'user', 'Whose key file in cachedir publishes. Default: root.'),
      ],
    },
    {
      title: 'Load',
      options: [
        int(['--in-flight'], 'in_flight', 'Most requests on their way at once. Default: 64.'),
        int(['--count'], 'count', 'End after so many.'),
        float(['--duration'], 'duration', 'End after so many seconds. Default: 10.'),
        float(['--rate'], 'rate', 'Per second (open loop). Default: as fast as answered.'),
        int(['--bytes'], 'bytes', 'Size of each return, or of the data of each event.'),
        text(['--jids'], 'jids', 'Jobs to return to, with commas between.'),
      ],
    },
    {
      title: 'Job',
      options: [
        text(['--target'], 'target', 'Default: *'),
        text(['--target-type'], 'target_type', 'Default: glob. A list has commas between.'),
        text(['--fun'], 'fun', 'Function. Default: test.ping.'),
        text(['--arg'], 'arg', 'Its argument.'),
        float(['--wait'], 'wait', 'Seconds to wait for all returns. Default: 30.'),
      ],
    },
  ],
};
