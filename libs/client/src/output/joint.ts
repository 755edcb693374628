import { chooseOutputter, type DisplayOptions } from './display.ts';

/** How the texts of parts of a map, in the order of its keys, make up the text of the map. */
export interface Joint {
  readonly open: string;
  readonly between: string;
  readonly close: string;
  /** What counts of the text of a part; empty where the outputter could not show the part. */
  readonly body: (text: string) => string;
}

/**
 * How the outputter that would show a value joins parts of one; undefined where it can not. So what
 * has no bound is shown as it comes, and nobody has to hold it all.
 */
export function jointOf(out: string | undefined, options: DisplayOptions): Joint | undefined {
  const name = chooseOutputter(out, options);
  const isOneLine = typeof options.indent === 'number' && options.indent < 0;
  if (name === 'json') {
    const end = isOneLine ? '' : '\n';
    return {
      open: `{${end}`,
      between: `,${end === '' ? ' ' : end}`,
      close: `${end}}\n`,
      body: (text) => text.slice(1 + end.length, -1 - end.length),
    };
  }
  if (name !== 'nested' && (name !== 'yaml' || isOneLine)) return undefined;
  return { open: '', between: '\n', close: '\n', body: (text) => text };
}
