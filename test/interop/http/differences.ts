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
    why:
      'stock salt-api fails at its own preflight; with `brine.http.origins` a page gets its ' +
      'answer',
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

/** Further requests that are not answered as by a stock salt-api beside Brine. */
export interface BesideDifference {
  readonly what: string;
  readonly stock: string;
  readonly brine: string;
  /** The requests that show it. */
  readonly names: readonly string[];
}

/** All of them, as docs/differences.md lists them. */
export const BESIDE_DIFFERENCES: readonly BesideDifference[] = [
  {
    what: 'a type in upper case, in `Content-Type` or `Accept`',
    stock: '406',
    brine: 'is taken: types have no case',
    names: ['log-in: JSON in upper case', 'Accept: APPLICATION/JSON'],
  },
  {
    what: 'a path that begins with two slashes',
    stock: '404',
    brine: 'the answer for one slash',
    names: ['GET //minions/web1.example'],
  },
  {
    what: '`GET /logout`',
    stock: '500',
    brine: 'the answer of `GET /`',
    names: ['GET /logout', 'GET /logout?x=1', 'HEAD /logout'],
  },
  { what: '`POST /events`', stock: '500', brine: '405', names: ['POST /events'] },
  {
    what: 'a lowstate in which a chunk is no map',
    stock: '500, after the chunks before it have run',
    brine: '400 with the reason, before any runs',
    names: [
      'JSON list of texts',
      'JSON list with null',
      'JSON list of lists',
      'a text as the second chunk',
      'null as the second chunk',
    ],
  },
  {
    what: '`POST /token` without a list or a map',
    stock: '500',
    brine: '400 with the reason',
    names: ['POST /token: nothing', 'POST /token: a text'],
  },
  {
    what: '`POST /token` of a user who may not call runners',
    stock: '401',
    brine: 'the token: it has the rights of the user',
    names: ['POST /token: two'],
  },
  {
    what: 'a body that is no YAML',
    stock: '500',
    brine: '400 `Invalid YAML document`',
    names: ['YAML of two documents', 'YAML, broken', 'YAML with a tag'],
  },
  {
    what: '`expr_form`, the old name of `tgt_type`',
    stock: 'is ignored: the target is a glob',
    brine: 'is taken',
    names: ['expr_form'],
  },
  {
    what: '`local_batch` with `raw`',
    stock: 'the events of the returns',
    brine: 'the returns',
    names: ['local_batch: raw'],
  },
  {
    what: 'an argument that a runner does not have',
    stock: 'is ignored',
    brine: 'the documentation of the runner, as by `salt-run`',
    names: ['runner: a wrong argument', 'runner: an argument too many'],
  },
];

/** The second table of docs/differences.md. */
export function besideTable(): string {
  return [
    '| what | stock Salt | Brine |',
    '| --- | --- | --- |',
    ...BESIDE_DIFFERENCES.map(({ what, stock, brine }) => `| ${what} | ${stock} | ${brine} |`),
  ].join('\n');
}
