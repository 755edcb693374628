type State = 'word' | 'number' | 'dotted word' | 'dotted number';

const isLetter = (char: string): boolean => /^\p{L}$/u.test(char);
const isDigit = (char: string): boolean => /^\d$/.test(char);

/**
 * Splits a text into letters, numbers and signs. A token ends where the kind of character changes.
 * A dot joins the digits of a fraction, and divides all else (dateutil: parser/_parser.py
 * _timelex).
 */
export function dateTokens(text: string): string[] {
  const chars = [...text].filter((char) => char !== '\0');
  const tokens: string[] = [];
  for (let at = 0; at < chars.length;) {
    const token = tokenAt(chars, at);
    at += token.length;
    tokens.push(...partsOf(token));
  }
  return tokens;
}

interface Token {
  readonly chars: string;
  /** Number of characters. */
  readonly length: number;
  readonly state: State | undefined;
  readonly seenLetters: boolean;
}

function tokenAt(chars: readonly string[], from: number): Token {
  const first = chars[from] ?? '';
  if (!isLetter(first) && !isDigit(first)) {
    return { chars: /^\s$/u.test(first) ? ' ' : first, length: 1, ...NEITHER };
  }
  let state: State = isLetter(first) ? 'word' : 'number';
  let token = first;
  let length = 1;
  let seenLetters = false;
  for (let at = from + 1; at < chars.length; at += 1) {
    const char = chars[at] ?? '';
    // A single letter at the end of a text does not set `seenLetters`.
    seenLetters ||= state.endsWith('word');
    const next = stateAfter(state, token, char);
    if (next === undefined) break;
    state = next;
    token += char;
    length += 1;
  }
  return { chars: token, length, state, seenLetters };
}

const NEITHER = { state: undefined, seenLetters: false };

/** The state after one more character; undefined if the token ends before it. */
function stateAfter(state: State, token: string, char: string): State | undefined {
  const afterDot = token.endsWith('.');
  switch (state) {
    case 'word':
      return isLetter(char) ? 'word' : char === '.' ? 'dotted word' : undefined;
    case 'number': {
      if (isDigit(char)) return 'number';
      return char === '.' || (char === ',' && token.length >= 2) ? 'dotted number' : undefined;
    }
    case 'dotted word':
      if (char === '.' || isLetter(char)) return state;
      return isDigit(char) && afterDot ? 'dotted number' : undefined;
    case 'dotted number':
      if (char === '.' || isDigit(char)) return state;
      return isLetter(char) && afterDot ? 'dotted word' : undefined;
  }
}

/** A fraction stays one token, with a dot for its comma; other dots and commas are tokens. */
function partsOf({ chars, state, seenLetters }: Token): readonly string[] {
  if (state !== 'dotted word' && state !== 'dotted number') return [chars];
  const dots = chars.split('.').length - 1;
  if (seenLetters || dots > 1 || /[.,]$/.test(chars)) {
    const [first = '', ...rest] = chars.split(/([.,])/);
    return [first, ...rest.filter((part) => part !== '')];
  }
  return [state === 'dotted number' && dots === 0 ? chars.replaceAll(',', '.') : chars];
}
