/** A recorded case of HTTP that differs on purpose. */
export interface HttpDifference {
  readonly name: string;
  readonly what: string;
  readonly why: string;
}

/** All wanted differences of recorded cases, as docs/differences.md lists them. */
export const HTTP_DIFFERENCES: readonly HttpDifference[] = [
  {
    name: 'api/method-options',
    what: 'status 204 without a page',
    why: 'stock salt-api fails at its own preflight; with `brine.http.origins` a page gets its answer',
  },
];

/** The table of docs/differences.md. */
export function httpDifferenceTable(): string {
  return [
    '| case | what differs | why |',
    '| --- | --- | --- |',
    ...HTTP_DIFFERENCES.map(({ name, what, why }) => `| \`${name}\` | ${what} | ${why} |`),
  ].join('\n');
}
