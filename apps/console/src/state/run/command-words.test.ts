import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { shellWord } from '../shell-word.ts';
import { splitWords } from './command-words.ts';

const words = (line: string): unknown => {
  const split = splitWords(line);
  return split.kind === 'words' ? split.words : split.text;
};

describe('splitWords', () => {
  it('splits at spaces, and not within quotes', () => {
    expect(words(`salt -C 'G@os:Debian and web*'  state.apply nginx`)).toEqual([
      'salt',
      '-C',
      'G@os:Debian and web*',
      'state.apply',
      'nginx',
    ]);
  });

  it('joins what stands together', () => {
    expect(words(`a'b c'"d"\\ e ''`)).toEqual(['ab cd e', '']);
  });

  it.each(['a; b', 'a | b', 'a && b', 'a > b', '$(b)', '`b`', 'echo $HOME'])(
    'refuses what only a shell would act on: %s',
    (line) => {
      expect(splitWords(line).kind).toBe('problem');
    },
  );

  it.each(["'a", 'b "c'])('refuses a quote without an end: %s', (line) => {
    expect(splitWords(line).kind).toBe('problem');
  });

  it('reads what it writes', () => {
    fc.assert(
      fc.property(fc.array(fc.string()), (given) => {
        expect(words(given.map(shellWord).join(' '))).toEqual(given);
      }),
    );
  });
});
