import { expect, test } from 'vitest';
import { candidatesFor, type CompletionSources } from './candidates.ts';
import { behindBreak, wordsOf } from './scripts.ts';

const PAGE = [
  'Usage: salt [options]',
  '  -c CONFIG_DIR, --config-dir=CONFIG_DIR',
  '                          Directory of the configuration file.',
  '  -t TIMEOUT, --timeout=TIMEOUT',
  '  -v, --verbose           Show the job id.',
  '    -L, --list            The target is a list.',
  '    --out=OUTPUT, --output=OUTPUT',
  '  -a ACCEPT, --accept=ACCEPT',
].join('\n');

const SOURCES: CompletionSources = {
  commands: ['salt', 'key', 'run'],
  helpOf: async () => PAGE,
  ids: async (which, dir) => (which === 'accepted' ? ['web1', 'web2'] : [`${which}-${dir ?? ''}`]),
  functions: async () => ['test.ping', 'test.echo', 'cmd.run'],
  runners: async () => ['jobs.active', 'manage.up'],
  nodegroups: async () => ['dbs'],
};

test.each<[string, string[]]>([
  ['brine ', ['key', 'run', 'salt']],
  ['brine s', ['salt']],
  ['brine --a', ['--api']],
  ['brine --api ', ['key', 'run', 'salt']],
  ['brine --api s', ['salt']],
  ['brine --api salt web', ['web1', 'web2']],
  ['brine --api=https://a s', ['salt']],
  ['brine --api https://a salt web1 cmd', ['cmd.run']],
  ['salt ', ['web1', 'web2']],
  ['/usr/bin/salt web', ['web1', 'web2']],
  ['brine salt web1 test.', ['test.echo', 'test.ping']],
  ['salt -t 5 -v web1 cmd', ['cmd.run']],
  ['salt -vL web1,we', ['web1,web1', 'web1,web2']],
  ['salt -N ', ['dbs']],
  ['salt web1 test.ping,cm', ['test.ping,cmd.run']],
  ['salt web1 test.echo ', []],
  ['salt --ou', ['--out', '--output']],
  ['salt --out=js', ['--out=json']],
  ['salt --out js', ['json']],
  ['salt -c ', []],
  ["salt 'web1' te", ['test.echo', 'test.ping']],
  ['salt-run man', ['manage.up']],
  ['salt-run manage.up ', []],
  ['salt-key -c /x -a ', ['pending-/x']],
  ['salt-key -l re', ['rej']],
  ['salt-cp web1 ', []],
  ['salt-call test.p', ['test.ping']],
])('behind %j come %j', async (line, found) => {
  expect(await candidatesFor(wordsOf(line), SOURCES)).toEqual(found);
});

test.each([
  ['a b', ['a', 'b']],
  ['a ', ['a', '']],
  ["a 'b c", ['a', 'b c']],
  ['a "b\\" c" d', ['a', 'b" c', 'd']],
  ['a b\\ c', ['a', 'b c']],
])('%j has the words %j', (line, words) => expect(wordsOf(line)).toEqual(words));

test.each([
  ['--out=json', '--out=js', 'js', 'json'],
  ['--out=json', '--out=', '', 'json'],
  ['--out=json', '--out=', '=', 'json'],
  ['web1', 'we', 'we', 'web1'],
  ['web1', 'we', "'we", 'web1'],
])('%j for %j, of which bash replaces %j, is %j', (candidate, typed, part, wanted) => {
  expect(behindBreak(candidate, typed, part)).toBe(wanted);
});
