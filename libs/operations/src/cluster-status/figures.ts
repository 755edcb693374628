/** Maximum of figures on the line of a service; `--out json` has all. */
const FIGURES_MAX = 8;

/**
 * The numbers of a status that are not 0, to three places, nested ones by their path:
 * `queue.aes=3`.
 */
export function figures(status: Readonly<Record<string, unknown>> | undefined): string {
  // The streams have a line of their own.
  const { pid: _pid, streams: _streams, lags: _lags, ...report } = status ?? {};
  const found = numbersOf(report, '');
  const more = found.length > FIGURES_MAX ? ' …' : '';
  return found.slice(0, FIGURES_MAX).join(' ') + more;
}

function numbersOf(status: object, prefix: string): string[] {
  return Object.entries(status).flatMap(([key, value]: [string, unknown]) => {
    if (typeof value === 'object' && value !== null) return numbersOf(value, `${prefix}${key}.`);
    const rounded = typeof value === 'number' ? Math.round(value * 1000) / 1000 : 0;
    return rounded === 0 ? [] : [`${prefix}${key}=${rounded}`];
  });
}

/** A table, each column as wide as its widest cell. */
export function columns(rows: readonly (readonly string[])[]): string {
  const widths = (rows[0] ?? []).map((_, column) =>
    Math.max(...rows.map((row) => row[column]?.length ?? 0)),
  );
  const line = (row: readonly string[]): string =>
    row.map((cell, column) => cell.padEnd(widths[column] ?? 0)).join('  ');
  return `${rows.map((row) => line(row).trimEnd()).join('\n')}\n`;
}

/** How long ago a time was, in two units. */
export function uptime(startedAt: string | number | undefined, nowMs = Date.now()): string {
  if (startedAt === undefined || startedAt === 0) return '-';
  const startedMs = typeof startedAt === 'number' ? startedAt : Date.parse(startedAt);
  const seconds = Math.max(0, Math.round((nowMs - startedMs) / 1000));
  if (seconds < 60) return `${seconds}s`;
  if (seconds < 3600) return `${Math.floor(seconds / 60)}m${seconds % 60}s`;
  if (seconds < 86_400)
    return `${Math.floor(seconds / 3600)}h${Math.floor((seconds % 3600) / 60)}m`;
  return `${Math.floor(seconds / 86_400)}d${Math.floor((seconds % 86_400) / 3600)}h`;
}
