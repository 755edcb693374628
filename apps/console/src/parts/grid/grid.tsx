import { Checkbox, UnstyledButton, VisuallyHidden } from '@mantine/core';
import { defaultRangeExtractor, type Range, useVirtualizer } from '@tanstack/react-virtual';
import {
  type CSSProperties,
  type KeyboardEvent,
  type ReactNode,
  useCallback,
  useEffect,
  useRef,
  useState,
} from 'react';
import classes from './grid.module.css';
import { gridMove } from './grid-moves.ts';

/** Pixels of a row, by density. */
const ROW_PX = { compact: 30, roomy: 42 } as const;
/** Rows beyond the seen ones. */
const OVERSCAN = 8;

/** A column. */
export interface GridColumn<Row> {
  readonly id: string;
  readonly title: string;
  readonly cell: (row: Row) => ReactNode;
  /** As in `grid-template-columns`. */
  readonly width: string;
  /** How the server calls this order, if it has one. */
  readonly sort?: string;
  /** Left out on narrow windows. */
  readonly isWide?: boolean;
}

/** Rows that are chosen, by their keys. */
export interface GridSelection {
  readonly has: (key: string) => boolean;
  readonly toggle: (key: string) => void;
}

interface GridProps<Row> {
  readonly label: string;
  readonly columns: readonly GridColumn<Row>[];
  /** All rows, those that are not loaded too. */
  readonly total: number;
  /** Undefined for a row that is not loaded yet. */
  readonly rowAt: (index: number) => Row | undefined;
  readonly keyOf: (row: Row) => string;
  readonly onOpen?: (row: Row) => void;
  /** Closes or opens what is below a row: the arrows to the left and to the right. */
  readonly onFold?: (row: Row, isClosed: boolean) => void;
  /** Which rows are seen. */
  readonly onRange?: (first: number, last: number) => void;
  /** Stays at the last row while rows are added. */
  readonly isAtEnd?: boolean;
  /** Whether one has scrolled to the last row. */
  readonly onAtEnd?: (isAtEnd: boolean) => void;
  /** The order, as the server calls it, with `-` downwards. */
  readonly sort?: string;
  readonly onSort?: (sort: string) => void;
  readonly selection?: GridSelection;
  readonly height?: string;
  readonly density?: keyof typeof ROW_PX;
}

/**
 * Rows of any number, of which the seen ones are in the page. One row has the focus: arrows, j and
 * k, Home, End and the page keys move it, Enter opens it, x chooses it.
 */
export function Grid<Row>(props: GridProps<Row>) {
  const { label, columns, total, rowAt, onRange, selection, isAtEnd = false, onAtEnd } = props;
  const { height = '60vh', density = 'compact' } = props;
  const scroller = useRef<HTMLDivElement>(null);
  const [focused, focus] = useState(0);
  const at = Math.min(focused, Math.max(0, total - 1));
  const virtual = useVirtualizer({
    count: total,
    getScrollElement: () => scroller.current,
    estimateSize: () => ROW_PX[density],
    overscan: OVERSCAN,
    // The row with the focus stays, however far one scrolls: without it the keys had no place.
    rangeExtractor: useCallback(
      (range: Range) => [...new Set([...defaultRangeExtractor(range), at])].sort((a, b) => a - b),
      [at],
    ),
  });
  const items = virtual.getVirtualItems().filter(({ index }) => index < total);
  const first = Math.max(0, (virtual.range?.startIndex ?? 0) - OVERSCAN);
  const last = Math.max(0, Math.min(total - 1, (virtual.range?.endIndex ?? 0) + OVERSCAN));
  useEffect(() => onRange?.(first, last), [first, last, onRange]);
  useEffect(() => {
    const place = scroller.current;
    if (isAtEnd && place !== null) place.scrollTop = place.scrollHeight;
  }, [isAtEnd, total]);
  const page = Math.max(1, last - first - OVERSCAN);
  const onKeyDown = useRowKeys(props, { at, page }, (index) => {
    focus(index);
    virtual.scrollToIndex(index);
    requestAnimationFrame(() => {
      scroller.current?.querySelector<HTMLElement>(`[data-index="${index}"]`)?.focus();
    });
  });
  const template = templateOf(columns, selection);
  const narrow = templateOf(
    columns.filter(({ isWide }) => isWide !== true),
    selection,
  );
  return (
    <div
      ref={scroller}
      role="grid"
      aria-label={label}
      aria-rowcount={total + 1}
      aria-colcount={columns.length}
      aria-multiselectable={selection !== undefined}
      className={classes['grid']}
      style={{ maxHeight: height, '--columns': template, '--narrow': narrow } as CSSProperties}
      onKeyDown={onKeyDown}
      onScroll={({ currentTarget: { scrollTop, clientHeight, scrollHeight } }) =>
        onAtEnd?.(scrollTop + clientHeight > scrollHeight - ROW_PX[density])
      }
    >
      <GridHead {...props} />
      <div role="rowgroup" style={{ height: virtual.getTotalSize(), position: 'relative' }}>
        {items.map(({ index, start, size }) => (
          <GridRow
            key={index}
            grid={props}
            row={rowAt(index)}
            index={index}
            style={{ height: size, transform: `translateY(${start}px)` }}
            tabIndex={index === at ? 0 : -1}
            onFocus={() => focus(index)}
          />
        ))}
      </div>
    </div>
  );
}

/** The columns of a row, as CSS has them. */
function templateOf(columns: readonly { width: string }[], selection?: GridSelection): string {
  return [...(selection ? ['2rem'] : []), ...columns.map(({ width }) => width)].join(' ');
}

/** Which row has the focus, and what keys do with it. */
function useRowKeys<Row>(
  { total, rowAt, keyOf, onOpen, onFold, selection }: GridProps<Row>,
  { at, page }: { readonly at: number; readonly page: number },
  show: (index: number) => void,
) {
  return (event: KeyboardEvent): void => {
    if (event.altKey || event.ctrlKey || event.metaKey) return;
    const row = isOfRow(event) ? rowAt(at) : undefined;
    const next = gridMove(event.key, at, { total, page });
    if (next !== undefined) {
      show(next);
    } else if (event.key === 'Enter' && row !== undefined && onOpen !== undefined) onOpen(row);
    else if (event.key === 'x' && row !== undefined && selection !== undefined) {
      selection.toggle(keyOf(row));
    } else if (/^Arrow(Left|Right)$/.test(event.key) && row !== undefined && onFold !== undefined) {
      onFold(row, event.key === 'ArrowLeft');
    } else return;
    event.preventDefault();
  };
}

/** The titles have keys of their own, as has a link or a button in a row. */
function isOfRow({ key, target }: KeyboardEvent): boolean {
  if (!(target instanceof HTMLElement) || target.closest('[data-index]') === null) return false;
  return key !== 'Enter' || target.closest('a, button') === null;
}

interface GridRowProps<Row> {
  readonly grid: GridProps<Row>;
  readonly row: Row | undefined;
  readonly index: number;
  readonly style: CSSProperties;
  readonly tabIndex: number;
  readonly onFocus: () => void;
}

function GridRow<Row>({ grid, row, index, ...rest }: GridRowProps<Row>) {
  const { columns, keyOf, onOpen, selection } = grid;
  const key = row === undefined ? undefined : keyOf(row);
  const isChosen = key !== undefined && selection?.has(key) === true;
  return (
    <div
      {...rest}
      role="row"
      data-index={index}
      aria-rowindex={index + 2}
      aria-selected={selection === undefined ? undefined : isChosen}
      className={classes['row']}
      onDoubleClick={() => row !== undefined && onOpen?.(row)}
    >
      {selection && (
        <div role="gridcell">
          <Checkbox
            size="xs"
            tabIndex={-1}
            checked={isChosen}
            disabled={key === undefined}
            onChange={() => key !== undefined && selection.toggle(key)}
            aria-label={`Choose ${key ?? 'this row'}`}
          />
        </div>
      )}
      {columns.map((column) => (
        <div
          key={column.id}
          role="gridcell"
          className={column.isWide === true ? classes['wide'] : undefined}
        >
          {row === undefined ? '…' : column.cell(row)}
        </div>
      ))}
    </div>
  );
}

function GridHead<Row>({ columns, sort, onSort, selection }: GridProps<Row>) {
  return (
    <div role="rowgroup" className={classes['head']}>
      <div role="row" aria-rowindex={1} className={classes['titles']}>
        {selection && (
          <div role="columnheader">
            <VisuallyHidden>Chosen</VisuallyHidden>
          </div>
        )}
        {columns.map((column) => (
          <div
            key={column.id}
            role="columnheader"
            aria-sort={sortedAs(column, sort)}
            className={column.isWide === true ? classes['wide'] : undefined}
          >
            {column.sort === undefined || onSort === undefined ? (
              column.title
            ) : (
              <UnstyledButton
                fw={600}
                fz="sm"
                onClick={() => onSort(sort === column.sort ? `-${sort}` : (column.sort ?? ''))}
              >
                {column.title} <span aria-hidden>{ARROWS[sortedAs(column, sort)]}</span>
              </UnstyledButton>
            )}
          </div>
        ))}
      </div>
    </div>
  );
}

const ARROWS = { ascending: '▲', descending: '▼', none: '' } as const;

function sortedAs(column: { readonly sort?: string }, sort = ''): keyof typeof ARROWS {
  if (column.sort === undefined) return 'none';
  if (sort === column.sort) return 'ascending';
  return sort === `-${column.sort}` ? 'descending' : 'none';
}
