import { describe, expect, test } from 'vitest';
import { EXIT, Exit, HelpExit } from '../exit-codes.ts';
import type { Option } from './command-form.ts';
import { OptionParser } from './option-parser.ts';

const option = (names: string[], dest: string, kind: Option['kind'], more = {}): Option => ({
  names,
  dest,
  kind,
  help: 'Does something.',
  ...more,
});

const PARSER = new OptionParser({
  prog: 'x',
  usage: 'u',
  description: 'Is a test.',
  version: '1',
  groups: [
    {
      title: 'Options',
      options: [
        option(['-h', '--help'], 'help', 'help'),
        option(['--version'], 'version', 'version'),
        option(['-f', '--flag'], 'flag', 'flag'),
        option(['-g', '--gag'], 'gag', 'flag'),
        option(['-t', '--text'], 'text', 'text'),
        option(['-i', '--int'], 'int', 'int'),
        option(['--float'], 'float', 'float'),
        option(['--choice'], 'choice', 'choice', { choices: ['a', 'b'] }),
        option(['--off'], 'off', 'off', { default: true }),
        option(['--flavour'], 'flavour', 'text'),
        option(['--old'], 'old', 'text', { instead: 'use --text' }),
      ],
    },
  ],
});

// Each row as Python's optparse read the same words with the same options.
describe('a command line', () => {
  test.each<[string[], Record<string, unknown>, string[]]>([
    [['a', '-f', 'b'], { flag: true }, ['a', 'b']],
    [['-fg'], { flag: true, gag: true }, []],
    [['-ftx'], { flag: true, text: 'x' }, []],
    [['-tx'], { text: 'x' }, []],
    [['-t', 'x'], { text: 'x' }, []],
    [['-t', '-f'], { text: '-f' }, []],
    [['-t', '--flag'], { text: '--flag' }, []],
    [['-t', ''], { text: '' }, []],
    [['--text=a=b'], { text: 'a=b' }, []],
    [['--text='], { text: '' }, []],
    [['--text', '-x'], { text: '-x' }, []],
    [['--te', 'x'], { text: 'x' }, []],
    [['--flag'], { flag: true }, []],
    [['--', '-f', '--flag'], {}, ['-f', '--flag']],
    [['a', '--', '-f'], {}, ['a', '-f']],
    [['-'], {}, ['-']],
    [['-i', '5'], { int: 5 }, []],
    [['-i', '0x1f'], { int: 31 }, []],
    [['-i', '010'], { int: 8 }, []],
    [['-i', '0b11'], { int: 3 }, []],
    [['-i', '-3'], { int: -3 }, []],
    [['-i', ' 7 '], { int: 7 }, []],
    [['-i', '0o17'], { int: 15 }, []],
    [['-i', '1_000'], { int: 1000 }, []],
    [['--float', '1e3'], { float: 1000.0 }, []],
    [['--float', '.5'], { float: 0.5 }, []],
    [['--choice', 'a'], { choice: 'a' }, []],
    [['--choice=b'], { choice: 'b' }, []],
    [['--off'], { off: false }, []],
    [['-i5'], { int: 5 }, []],
    [['-fi5'], { flag: true, int: 5 }, []],
    [['-f', '-f'], { flag: true }, []],
    [['-t', 'a', '-t', 'b'], { text: 'b' }, []],
    [['', 'a'], {}, ['', 'a']],
    [['--int=7'], { int: 7 }, []],
    [['-i', '+4'], { int: 4 }, []],
  ])('%j gives %j and the words %j', (argv, values, args) => {
    const parsed = PARSER.parse(argv);
    const given = [...parsed.given].map((dest) => [dest, parsed.values.get(dest)]);
    expect(Object.fromEntries(given)).toEqual(values);
    expect(parsed.args).toEqual(args);
  });

  test.each<[string[], string]>([
    [['--fl'], 'ambiguous option: --fl (--flag, --flavour, --float?)'],
    [['--fla'], 'ambiguous option: --fla (--flag, --flavour?)'],
    [['--flag=1'], '--flag option does not take a value'],
    [['-x'], 'no such option: -x'],
    [['-fx'], 'no such option: -x'],
    [['--nope'], 'no such option: --nope'],
    [['--nope=1'], 'no such option: --nope'],
    [['-t'], '-t option requires 1 argument'],
    [['--text'], '--text option requires 1 argument'],
    [['-i', '5.0'], "option -i: invalid integer value: '5.0'"],
    [['-i', ''], "option -i: invalid integer value: ''"],
    [['-i', 'x'], "option -i: invalid integer value: 'x'"],
    [['--float', 'x'], "option --float: invalid floating-point value: 'x'"],
    [['--float', ''], "option --float: invalid floating-point value: ''"],
    [['--choice', 'c'], "option --choice: invalid choice: 'c' (choose from 'a', 'b')"],
    [['--float', '0x10'], "option --float: invalid floating-point value: '0x10'"],
    [['-i', '08'], "option -i: invalid integer value: '08'"],
  ])('%j is refused: %s', (argv, text) => {
    const error = exitOf(argv);
    expect([error.code, error.text]).toEqual([EXIT.usage, `Usage: x u\n\nx: error: ${text}\n`]);
  });
});

function exitOf(argv: readonly string[]): Exit {
  try {
    PARSER.parse(argv);
  } catch (error) {
    if (error instanceof Exit) return error;
    throw error;
  }
  throw new Error('it was read');
}

test.each([
  [['--version'], 'x 1\n'],
  [['--help'], 'Usage: x u\n\nIs a test.\n'],
  [['-f', '-h', '--nope'], '  --flavour=FLAVOUR       Does something.\n'],
])('%j ends the command with a page', (argv, part) => {
  const exit = exitOf(argv);
  expect(exit).toBeInstanceOf(HelpExit);
  expect(exit.code).toBe(EXIT.ok);
  expect((exit as HelpExit).page).toContain(part);
});

test('an option without effect is reported once, with what to do instead', () => {
  const { ineffective } = PARSER.parse(['--old', 'a', '--old=b']);
  expect(ineffective).toEqual(['--old has no effect here: use --text']);
});
