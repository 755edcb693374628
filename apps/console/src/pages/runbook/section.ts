/** A part of a page of the documentation. */
export type Block =
  | { readonly is: 'heading' | 'text' | 'code'; readonly text: string }
  | { readonly is: 'table'; readonly rows: readonly (readonly string[])[] };

/** Where a page of the documentation is in the console. */
export interface Place {
  /** The name of its file, without its end. */
  readonly page: string;
  /** The anchor of a heading; empty for all of the page. */
  readonly anchor: string;
}

/** Reads `docs/outages.md#postgresql-away`; undefined for anything else. */
export function placeIn(text: string): Place | undefined {
  const [, page, anchor = ''] = /^docs\/([a-z-]+)\.md(?:#([a-z0-9-]+))?$/.exec(text) ?? [];
  return page === undefined ? undefined : { page, anchor };
}

const FENCE = /^\s*```/;

/**
 * The blocks of a section: from the heading with this anchor to the next one of its level.
 * @returns of the whole page for an empty anchor, and for one that the page does not have
 */
export function sectionOf(markdown: string, anchor: string): readonly Block[] {
  const all = linesOf(markdown);
  const at = all.findIndex(({ level, text }) => level > 0 && anchorOf(text) === anchor);
  const own = all[at];
  if (anchor === '' || own === undefined) return blocksOf(all);
  const length = all.slice(at + 1).findIndex(({ level }) => level > 0 && level <= own.level);
  return blocksOf(length < 0 ? all.slice(at) : all.slice(at, at + 1 + length));
}

/** A line, `level` above zero for a heading. */
interface Line {
  readonly text: string;
  readonly level: number;
  readonly isCode: boolean;
}

function linesOf(markdown: string): readonly Line[] {
  let isCode = false;
  return markdown.split('\n').flatMap((text): Line[] => {
    if (FENCE.test(text)) {
      isCode = !isCode;
      return [{ text: '', level: 0, isCode: false }];
    }
    const [, marks = '', title = ''] = (!isCode && /^(#{1,6}) (.*)$/.exec(text)) || [];
    return marks === ''
      ? [{ text, level: 0, isCode }]
      : [{ text: plain(title), level: marks.length, isCode }];
  });
}

/** Lines of one kind together: paragraphs, code, tables. */
function blocksOf(lines: readonly Line[]): readonly Block[] {
  const blocks: Block[] = [];
  let open: { readonly is: 'text' | 'code' | 'table'; readonly lines: string[] } | undefined;
  const close = (): void => {
    if (open === undefined) return;
    const { is, lines: own } = open;
    if (is === 'table') blocks.push({ is, rows: rowsOf(own) });
    else blocks.push({ is, text: is === 'code' ? own.join('\n') : paragraph(own) });
    open = undefined;
  };
  for (const { text, level, isCode } of lines) {
    const kind = isCode ? 'code' : text.startsWith('|') ? 'table' : 'text';
    if (level > 0 || (!isCode && text.trim() === '')) {
      close();
      if (level > 0) blocks.push({ is: 'heading', text });
      continue;
    }
    if (open?.is !== kind) {
      close();
      open = { is: kind, lines: [] };
    }
    open.lines.push(text);
  }
  close();
  return blocks;
}

/** Lines of a paragraph as one; points of a list keep their lines. */
function paragraph(lines: readonly string[]): string {
  return plain(lines.join('\n').replaceAll(/\n(?!\s*(?:[-*]|\d+\.) )\s*/g, ' '));
}

function rowsOf(lines: readonly string[]): readonly (readonly string[])[] {
  return lines
    .filter((line) => !/^[|\s:-]+$/.test(line))
    .map((line) =>
      line
        .split(/(?<!\\)\|/)
        .slice(1, -1)
        .map((cell) => plain(cell.trim())),
    );
}

/** Links as their texts, without signs of emphasis. */
function plain(text: string): string {
  return text
    .replaceAll(/\[([^\]]+)\]\([^)]*\)/g, '$1')
    .replaceAll('**', '')
    .replaceAll('`', '');
}

/** The anchor of a heading, as sites of repositories make it. */
function anchorOf(title: string): string {
  return title
    .toLowerCase()
    .replaceAll(/[^\p{L}\p{N} _-]/gu, '')
    .replaceAll(' ', '-');
}
