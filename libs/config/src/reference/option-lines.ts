import type { EffectiveOption, ValueSource } from './effective.ts';

/** One option per line: YAML, with the source as a comment. */
export function optionLines(options: readonly EffectiveOption[]): string {
  return options
    .map(({ name, value, source }) => `${name}: ${valueText(value)}  # ${sourceText(source)}\n`)
    .join('');
}

function valueText(value: unknown): string {
  if (value === undefined) return 'null';
  return typeof value === 'string' && /^[\w./-]+$/.test(value) ? value : JSON.stringify(value);
}

/** Where a value comes from. */
export function sourceText(source: ValueSource): string {
  switch (source.kind) {
    case 'default':
      return 'default';
    case 'environment':
      return source.variable;
    case 'file':
      // Line numbers of deeply nested options are unknown.
      return source.line === 0 ? source.file : `${source.file}:${source.line}`;
  }
}
