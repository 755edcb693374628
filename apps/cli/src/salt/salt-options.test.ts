import { describe, expect, test } from 'vitest';
import { Exit } from '../exit-codes.ts';
import { OptionParser } from '../options/option-parser.ts';
import type { Terminal } from '../terminal.ts';
import { readCommand, SALT_FORM, type SaltCommand } from './salt-options.ts';

const PARSER = new OptionParser(SALT_FORM);

function read(argv: readonly string[]): { readonly command: SaltCommand; readonly shown: string } {
  let shown = '';
  const terminal: Terminal = {
    isTerminal: false,
    ownsSignals: false,
    out: (text) => void (shown += text),
    err: () => undefined,
    ask: async () => undefined,
    askSecret: async () => undefined,
    readInput: async () => '',
  };
  return { command: readCommand(PARSER.parse(argv), PARSER, terminal), shown };
}

// Salt: salt/utils/parsers.py SaltCMDOptionParser _mixin_after_parsed.
describe('the target', () => {
  test.each<[string[], string | string[], string]>([
    [['*', 'f.f'], '*', 'glob'],
    [['-E', 'web.*', 'f.f'], 'web.*', 'pcre'],
    [['-L', 'a,b', 'f.f'], ['a', 'b'], 'list'],
    [['-L', 'a, b ,c', 'f.f'], ['a', 'b', 'c'], 'list'],
    [['-L', 'a  b', 'f.f'], ['a', 'b'], 'list'],
    [['-L', 'a', 'f.f'], ['a'], 'list'],
    [['-G', 'os:Debian', 'f.f'], 'os:Debian', 'grain'],
    [['-P', 'os:Deb.*', 'f.f'], 'os:Deb.*', 'grain_pcre'],
    [['-N', 'web', 'f.f'], 'web', 'nodegroup'],
    [['-R', '%web', 'f.f'], '%web', 'range'],
    [['-C', 'G@os:x and *', 'f.f'], 'G@os:x and *', 'compound'],
    [['-I', 'a:b', 'f.f'], 'a:b', 'pillar'],
    [['-J', 'a:b.*', 'f.f'], 'a:b.*', 'pillar_pcre'],
    [['-S', '10.0.0.0/8', 'f.f'], '10.0.0.0/8', 'ipcidr'],
  ])('of %j is %j, %s', (argv, tgt, tgtType) => {
    expect(read(argv).command).toMatchObject({ tgt, tgtType, fun: 'f.f' });
  });
});

describe('function and arguments', () => {
  test.each<[string[], Partial<SaltCommand>]>([
    [['*', 'f.f', '1', 'a', 'true'], { fun: 'f.f', arg: [1, 'a', true] }],
    [['*', 'a.b,c.d', '1', ',', '2'], { fun: ['a.b', 'c.d'], arg: [[1], [2]] }],
    [['--args-separator=::', '*', 'a.b,c.d', '1', '::', '2'], { arg: [[1], [2]] }],
    [['-d', '*'], { tgt: '*', fun: 'sys.doc', arg: [] }],
    [['-d'], { tgt: '*', fun: 'sys.doc', arg: [] }],
    [['-d', 'web1', 'test'], { tgt: 'web1', fun: 'sys.doc', arg: ['test'] }],
    [['-d', '*', 'sys.doc', 'test'], { fun: 'sys.doc', arg: ['test'] }],
    [['--return', 'a,b', '*', 'f.f'], { ret: 'a,b' }],
  ])('of %j are %j', (argv, command) => {
    expect(read(argv).command).toMatchObject(command);
  });

  test('without --return no returner is named', () => {
    expect(read(['*', 'f.f']).command).not.toHaveProperty('ret');
  });
});

test.each<[string, string[], number, RegExp]>([
  ['no word', [], 42, /^\nCannot execute command without defining a target\.\n\n$/],
  ['a target alone', ['*'], 42, /^\nIncomplete options passed\.\n\n$/],
  ['two functions of -d', ['-d', '*', 'a', 'b'], 64, /only get documentation for one method/],
])('%s is refused', (_rule, argv, code, text) => {
  let error: unknown;
  try {
    read(argv);
  } catch (thrown) {
    error = thrown;
  }
  expect(error).toBeInstanceOf(Exit);
  expect([(error as Exit).code, (error as Exit).text]).toEqual([code, expect.stringMatching(text)]);
});
