import type { AskedCase } from './recorded-http.ts';

/** Requests beyond the recorded ones, by what they try. */

type More = Partial<Omit<AskedCase, 'name' | 'request'>> & {
  readonly method?: string;
  readonly path?: string;
  readonly type?: string;
  readonly accept?: string;
  readonly headers?: Readonly<Record<string, string>>;
};

const JSON_TYPE = 'application/json';
const YAML_TYPE = 'application/x-yaml';
const FORM_TYPE = 'application/x-www-form-urlencoded';
const CREDENTIALS = { username: 'api', password: 'lab-secret', eauth: 'sharedsecret' };
const ECHO = { client: 'local', tgt: 'web1.example', fun: 'test.echo', arg: ['x'] };
const GIVEN = { client: 'local', tgt: 'web1.example', fun: 'lab.args' };

function made(name: string, body: string | null, more: More): AskedCase {
  const { method = 'POST', path = '/', type = JSON_TYPE, accept, headers, ...rest } = more;
  const all = {
    ...(body === null || type === '' ? {} : { 'Content-Type': type }),
    ...(accept === undefined ? {} : { Accept: accept }),
    ...headers,
  };
  return { name, request: { method, path, headers: all, body }, ...rest };
}

/** A body as it is. */
function raw(name: string, body: string | null, more: More = {}): AskedCase {
  return made(name, body, { login: 'api', ...more });
}

/** A lowstate as JSON. */
function low(name: string, lowstate: unknown, more: More = {}): AskedCase {
  return raw(name, JSON.stringify(lowstate), more);
}

function get(path: string, more: More = {}): AskedCase {
  return made(`GET ${path}`, null, { method: 'GET', path, login: 'api', ...more });
}

/** A body without a session. */
function stranger(name: string, body: string | null, more: More): AskedCase {
  return made(name, body, more);
}

const LOG_INS: readonly AskedCase[] = [
  ...(
    [
      [
        'form with a repeated name',
        FORM_TYPE,
        'username=x&username=api&password=lab-secret&eauth=sharedsecret',
      ],
      ['form with an empty value', FORM_TYPE, 'username=api&password=&eauth=sharedsecret'],
      [
        'form with a charset',
        `${FORM_TYPE}; charset=utf-8`,
        'username=api&password=lab-secret&eauth=sharedsecret',
      ],
      ['JSON with a charset', `${JSON_TYPE}; charset=utf-8`, JSON.stringify(CREDENTIALS)],
      ['JSON in upper case', 'Application/JSON', JSON.stringify(CREDENTIALS)],
      ['plain text with JSON', 'text/plain', JSON.stringify(CREDENTIALS)],
      ['plain text with more', 'text/plain', 'hello'],
      ['text/yaml', 'text/yaml', 'username: api\npassword: lab-secret\neauth: sharedsecret\n'],
      ['YAML list', YAML_TYPE, '- username: api\n  password: lab-secret\n  eauth: sharedsecret\n'],
      ['YAML text', YAML_TYPE, 'hello'],
      ['JSON number', JSON_TYPE, '7'],
      ['JSON null', JSON_TYPE, 'null'],
      ['JSON empty list', JSON_TYPE, '[]'],
      ['JSON list of lists', JSON_TYPE, '[[]]'],
      ['JSON list of texts', JSON_TYPE, '["x"]'],
      ['JSON with NaN', JSON_TYPE, '{"username": NaN}'],
      ['user as a number', JSON_TYPE, JSON.stringify({ ...CREDENTIALS, username: 7 })],
      ['password as null', JSON_TYPE, JSON.stringify({ ...CREDENTIALS, password: null })],
      ['eauth as a list', JSON_TYPE, JSON.stringify({ ...CREDENTIALS, eauth: ['sharedsecret'] })],
      ['token_expire', JSON_TYPE, JSON.stringify({ ...CREDENTIALS, token_expire: 60 })],
      ['an unknown field', JSON_TYPE, JSON.stringify({ ...CREDENTIALS, extra: 'x' })],
      [
        'a user of another module',
        JSON_TYPE,
        JSON.stringify({ username: 'filed', password: 'file-pass', eauth: 'file' }),
      ],
    ] as const
  ).map(([name, type, body]) => stranger(`log-in: ${name}`, body, { path: '/login', type })),
  stranger('log-in: refused, as YAML', '{}', { path: '/login', accept: YAML_TYPE }),
  stranger('log-in: with a query', JSON.stringify(CREDENTIALS), { path: '/login?x=1' }),
];

const GETS: readonly AskedCase[] = [
  ...[
    '/?x=1',
    '//',
    '/login?x=1',
    '/login/',
    '/login/x',
    '/logout',
    '/logout?x=1',
    '//minions/web1.example',
    '/minions//web1.example',
    '/minions/web1.example/x',
    '/minions?x=1',
    '/jobs/x',
    '/jobs/20200101000000000000/5',
    '/jobs/20200101000000000000/5/6',
    '/jobs/20200101000000000000?timeout=5',
    '/jobs?jid=20200101000000000000',
    '/jobs?x=1',
    '/keys/nosuch*',
    '/keys/a/b',
    '/keys?mid=nosuch',
    '/keys?x=1',
    '/run/x',
    '/run?x=1',
    '/token',
    '/token/x',
    '/token?x=1',
    '/stats/x',
    '/stats?x=1',
    '/events/x',
    '/hook/x/y',
    '/ws/x',
    '/nosuch?x=<b>&y',
    '/nosuch/%3Cb%3E',
    '/MINIONS',
    '/index',
  ].map((path) => get(path)),
  get('/minions?mid=web1.example', { trim: 'grains' }),
  get('/minions/web*', { trim: 'grains' }),
  get('/keys/web*', { hide_fingers: true }),
  ...[
    '/',
    '/login',
    '/logout',
    '/minions/web1.example',
    '/jobs/20200101000000000000',
    '/keys',
    '/run',
    '/token',
    '/hook',
    '/nosuch',
  ].map((path) => made(`HEAD ${path}`, null, { method: 'HEAD', path, login: 'api' })),
  made('HEAD /minions of a stranger', null, { method: 'HEAD', path: '/minions' }),
];

const METHODS: readonly AskedCase[] = [
  ...(
    [
      ['PUT', '/login'],
      ['DELETE', '/jobs'],
      ['PATCH', '/'],
      ['PUT', '/nosuch'],
      ['DELETE', '/keys/x'],
      ['POST', '/stats'],
      ['POST', '/events'],
      ['POST', '/nosuch'],
      ['PUT', '/hook/x'],
    ] as const
  ).map(([method, path]) => made(`${method} ${path}`, '{}', { method, path, login: 'api' })),
  made('PUT /minions of a stranger', '{}', { method: 'PUT', path: '/minions' }),
];

const ACCEPTS: readonly AskedCase[] = [
  '*/*',
  'application/*',
  'application/json;q=0.1, application/x-yaml;q=0.9',
  'application/x-yaml;q=0.1, */*;q=0.9',
  'application/x-yaml, application/json',
  'text/html, application/x-yaml;q=0.5',
  'text/html, */*',
  'application/json;q=0',
  'text/*',
  'APPLICATION/JSON',
  'application/json; charset=utf-8',
  'text/plain;q=0.5, application/xml',
  'application/yaml',
  'text/yaml',
  '',
].map((accept) => made(`Accept: ${accept}`, null, { method: 'GET', accept, login: 'api' }));

const BODIES: readonly AskedCase[] = [
  raw('JSON with a byte order mark', `\ufeff${JSON.stringify([ECHO])}`),
  raw('JSON with a comment', `// x\n${JSON.stringify([ECHO])}`),
  raw(
    'JSON with NaN',
    '[{"client": "local", "tgt": "web1.example", "fun": "lab.args", "arg": [NaN]}]',
  ),
  raw(
    'JSON with a name twice',
    '[{"client": "runner", "client": "local", "tgt": "web1.example", "fun": "test.ping"}]',
  ),
  raw('JSON number', '7'),
  raw('JSON null', 'null'),
  raw('JSON true', 'true'),
  raw('JSON empty map', '{}'),
  raw('JSON list of texts', '["x"]'),
  raw('JSON list with null', '[null]'),
  raw('JSON list of lists', '[[]]'),
  raw(
    'JSON with a surrogate',
    '[{"client": "local", "tgt": "web1.example", "fun": "test.echo", "arg": ["\\ud83e\\uddc2"]}]',
  ),
  raw(
    'JSON with large numbers',
    '[{"client": "local", "tgt": "web1.example", "fun": "lab.args", ' +
      '"arg": [9007199254740993, 1e3, 1.0, -0.0, 18446744073709551615]}]',
  ),
  raw('plain text with JSON', JSON.stringify([ECHO]), { type: 'text/plain' }),
  raw('plain text with more', 'hello', { type: 'text/plain' }),
  raw('no type', JSON.stringify([ECHO]), { type: '' }),
  raw('multipart', '--x\r\n\r\n\r\n--x--', { type: 'multipart/form-data; boundary=x' }),
  raw('XML', '<x/>', { type: 'application/xml' }),
  raw('JSON+', JSON.stringify([ECHO]), { type: 'application/vnd.api+json' }),
  raw(
    'YAML, nested',
    '- client: local\n  tgt: web1.example\n  fun: lab.args\n  arg:\n    - {a: [1, {b: c}]}\n' +
      '    - 2026-01-02\n    - "010"\n    - 010\n    - ~\n    - yes\n',
    { type: YAML_TYPE },
  ),
  raw(
    'YAML with an anchor',
    '- &x\n  client: local\n  tgt: web1.example\n  fun: lab.args\n  arg: [1]\n' +
      '- <<: *x\n  arg: [2]\n',
    { type: YAML_TYPE },
  ),
  raw('YAML of two documents', '---\n[]\n---\n[]\n', { type: YAML_TYPE }),
  raw('YAML, broken', '- [', { type: YAML_TYPE }),
  raw('YAML with a tag', '- !!python/object:os.system x', { type: YAML_TYPE }),
  raw('YAML text', 'hello', { type: 'text/yaml' }),
  raw('YAML, empty list', '[]', { type: 'text/yaml' }),
  ...(
    [
      ['one arg', 'client=local&tgt=web1.example&fun=lab.args&arg=1'],
      ['two args', 'client=local&tgt=web1.example&fun=lab.args&arg=1&arg=b%20c'],
      [
        'arg as YAML',
        'client=local&tgt=web1.example&fun=lab.args&arg=[1,%20{a:%20b}]&arg=~&arg=yes',
      ],
      ['arg with =', 'client=local&tgt=web1.example&fun=lab.args&arg=a%3D1&arg=b%3D[1,2]'],
      ['kwarg', 'client=local&tgt=web1.example&fun=lab.args&kwarg={a:%201}'],
      ['kwarg twice', 'client=local&tgt=web1.example&fun=lab.args&kwarg={a:%201}&kwarg={b:%202}'],
      ['kwarg as text', 'client=local&tgt=web1.example&fun=lab.args&kwarg=a'],
      ['an empty arg', 'client=local&tgt=web1.example&fun=lab.args&arg='],
      ['tgt twice', 'client=local&tgt=web1.example&tgt=web2.example&tgt_type=list&fun=test.ping'],
      ['semicolons', 'client=local;tgt=web1.example;fun=test.ping'],
      ['a plus and a broken percent', 'client=local&tgt=web1.example&fun=lab.args&arg=a+b&arg=%zz'],
      ['bytes that are no UTF-8', 'client=local&tgt=web1.example&fun=lab.args&arg=%ff'],
      ['timeout as text', 'client=local&tgt=web1.example&fun=test.ping&timeout=5'],
      ['timeout that is no number', 'client=local&tgt=web1.example&fun=test.ping&timeout=x'],
      ['no names', '=&=x&y'],
      ['no sign', 'hello'],
      ['full_return', 'client=local&tgt=web1.example&fun=test.ping&full_return=true'],
      ['full_return empty', 'client=local&tgt=web1.example&fun=test.ping&full_return='],
    ] as const
  ).map(([name, body]) => raw(`form: ${name}`, body, { type: FORM_TYPE })),
];

const LOCAL: readonly AskedCase[] = [
  low('arg as text', { ...GIVEN, arg: 'x' }),
  low('arg as a number', { ...GIVEN, arg: 5 }),
  low('arg as a map', { ...GIVEN, arg: { a: 1 } }),
  low('arg as null', { ...GIVEN, arg: null }),
  low('arg as an empty text', { ...GIVEN, arg: '' }),
  low('arg as text in a list', [{ ...GIVEN, arg: 'x' }]),
  low('args with =', { ...GIVEN, arg: ['a=1', 'b=[1, 2]', 'c', 'd==e', 'f-g=h'] }),
  low('args of all kinds', {
    ...GIVEN,
    arg: [1, 1.5, true, null, [1, [2]], { a: { b: null } }, '1', 'true', 'é'],
  }),
  low('kwarg', { ...GIVEN, kwarg: { a: 1, b: [1], c: { d: null } } }),
  low('kwarg beside arg', { ...GIVEN, arg: ['x', 'y=1'], kwarg: { z: 2 } }),
  low('kwarg as a list', { ...GIVEN, kwarg: ['a'] }),
  low('kwarg as text', { ...GIVEN, kwarg: 'a' }),
  low('kwarg empty', { ...GIVEN, kwarg: {} }),
  low('kwarg null', { ...GIVEN, kwarg: null }),
  low('__kwarg__ in arg', { ...GIVEN, arg: ['x', { __kwarg__: true, a: 1 }] }),
  low('an unknown field', { ...GIVEN, extra: 'x' }),
  low('expr_form', { ...ECHO, tgt: 'web1.example,db1.example', expr_form: 'list' }),
  low('expr_form beside tgt_type', { ...ECHO, expr_form: 'list', tgt_type: 'glob' }),
  ...(
    [
      ['list', ['web1.example', 'db1.example']],
      ['list', 'web1.example,db1.example'],
      ['list', []],
      ['pcre', 'web[12].*'],
      ['pcre', 'web('],
      ['grain', 'role:web'],
      ['grain_pcre', 'role:w.b'],
      ['pillar', 'nosuch:x'],
      ['pillar_pcre', 'nosuch:x'],
      ['pillar_exact', 'nosuch:x'],
      ['nodegroup', 'web'],
      ['nodegroup', 'nosuch'],
      ['compound', 'G@role:web and not web2.example'],
      ['compound', '( web1*'],
      ['range', 'x'],
      ['ipcidr', '192.0.2.0/24'],
      ['nosuch', '*'],
      ['', 'web1.example'],
      [null, 'web1.example'],
      [7, 'web1.example'],
    ] as const
  ).map(([tgt_type, tgt]) =>
    low(`${JSON.stringify(tgt_type)}: ${JSON.stringify(tgt)}`, { ...ECHO, tgt, tgt_type }),
  ),
  low('tgt as a list without its type', { ...ECHO, tgt: ['web1.example'] }),
  low('tgt as a number', { ...ECHO, tgt: 7 }),
  low('tgt as null', { ...ECHO, tgt: null }),
  low('tgt empty', { ...ECHO, tgt: '' }),
  low('fun as a number', { ...ECHO, fun: 7 }),
  low('fun as null', { ...ECHO, fun: null }),
  low('fun without a dot', { ...ECHO, fun: 'ping' }),
  low('functions as text', { ...GIVEN, fun: 'test.ping,lab.args', arg: [[], ['x']] }),
  low('functions as a list', { ...GIVEN, fun: ['test.ping', 'lab.args'], arg: [[], ['x']] }),
  low('functions, full', {
    ...GIVEN,
    fun: ['test.ping', 'lab.args'],
    arg: [[], ['x']],
    full_return: true,
  }),
  low('timeout as text', { ...ECHO, timeout: '5' }),
  low('timeout null', { ...ECHO, timeout: null }),
  low('timeout as a list', { ...ECHO, timeout: [5] }),
  low('gather_job_timeout', { ...ECHO, gather_job_timeout: '2' }),
  low('ret', { ...ECHO, ret: '' }),
  low('metadata', { ...GIVEN, metadata: { a: 1 } }),
  low('full_return false', { ...ECHO, full_return: false }),
  low('full_return of a retcode', { ...GIVEN, fun: 'lab.retcode', arg: [3], full_return: true }),
  low('full_return of an exception', { ...GIVEN, fun: 'lab.boom', full_return: true }),
  low('full_return of no match', { ...ECHO, tgt: 'nosuch', full_return: true }),
  low('full_return as text', { ...ECHO, full_return: 'x' }),
  low(
    'a function of a limited user',
    { client: 'local', tgt: 'web*', fun: 'test.ping' },
    { login: 'pinger' },
  ),
  low(
    'another target of a limited user',
    { client: 'local', tgt: '*', fun: 'test.ping' },
    { login: 'pinger' },
  ),
  low(
    'a user of no rights',
    { client: 'local', tgt: '*', fun: 'test.ping' },
    { login: 'nobody-rights' },
  ),
  low('a token in the chunk', { ...ECHO, token: 'zz' }),
  low('an eauth beside the session', { ...ECHO, eauth: 'pam', username: 'x', password: 'y' }),
  low('raw_shell', { ...ECHO, raw_shell: true }),
];

const CHUNKS: readonly AskedCase[] = [
  low('no client in the second chunk', [ECHO, { tgt: '*' }]),
  low('an unknown client in the second chunk', [ECHO, { client: 'nosuch' }]),
  low('no fun in the second chunk', [ECHO, { client: 'local', tgt: '*' }]),
  low('a text as the second chunk', [ECHO, 'x']),
  low('null as the second chunk', [ECHO, null]),
  low(
    'a refusal in the second chunk',
    [
      { client: 'local', tgt: 'web1.example', fun: 'test.ping' },
      { client: 'runner', fun: 'test.arg' },
    ],
    { login: 'pinger' },
  ),
  low('three clients', [
    ECHO,
    { client: 'runner', fun: 'test.arg', arg: [1] },
    { client: 'wheel', fun: 'key.finger', match: 'nosuch' },
  ]),
  low('no match beside a match', [{ ...ECHO, tgt: 'nosuch' }, ECHO]),
  low('client as a number', { ...ECHO, client: 7 }),
  low('client run', { ...ECHO, client: 'run' }),
  low('client _private', { ...ECHO, client: '_is_master_running' }),
  low('client in upper case', { ...ECHO, client: 'LOCAL' }),
];

const OTHER_LOCAL: readonly AskedCase[] = [
  low('local_async: full_return', { ...ECHO, client: 'local_async', full_return: true }),
  low('local_async: kwarg', { ...ECHO, client: 'local_async', kwarg: { a: 1 } }),
  low('local_async: no fun', { client: 'local_async', tgt: '*' }),
  low('local_async: list', {
    ...ECHO,
    client: 'local_async',
    tgt: ['web1.example', 'nosuch'],
    tgt_type: 'list',
  }),
  low('local_subset', { ...ECHO, client: 'local_subset', sub: 1, tgt: 'web1.example' }),
  low('local_subset: subset', { ...ECHO, client: 'local_subset', subset: 2, tgt: 'web*' }),
  low('local_subset: no match', { ...ECHO, client: 'local_subset', tgt: 'nosuch' }),
  low('local_subset: full_return', {
    ...ECHO,
    client: 'local_subset',
    tgt: 'web1.example',
    full_return: true,
  }),
  low('local_batch', { ...ECHO, client: 'local_batch', tgt: 'web*' }),
  low('local_batch: batch', { ...ECHO, client: 'local_batch', tgt: 'web*', batch: 1 }),
  low('local_batch: batch as text', { ...ECHO, client: 'local_batch', tgt: 'web*', batch: '50%' }),
  low('local_batch: no match', { ...ECHO, client: 'local_batch', tgt: 'nosuch', batch: 1 }),
  low('local_batch: full_return', {
    ...ECHO,
    client: 'local_batch',
    tgt: 'web1.example',
    batch: 1,
    full_return: true,
  }),
  low('local_batch: raw', {
    ...ECHO,
    client: 'local_batch',
    tgt: 'web1.example',
    batch: 1,
    raw: true,
  }),
  low('local_batch: broken', { ...ECHO, client: 'local_batch', tgt: 'web1.example', batch: 'x' }),
  low('local_batch: kwarg', {
    ...GIVEN,
    client: 'local_batch',
    tgt: 'web1.example',
    batch: 1,
    arg: ['a'],
    kwarg: { b: 1 },
  }),
];

const FUNCTIONS: readonly AskedCase[] = [
  low('runner: arg', { client: 'runner', fun: 'test.arg', arg: [1, 'b', 'c=2'] }),
  low('runner: arg as text', { client: 'runner', fun: 'test.arg', arg: 'c=2' }),
  low('runner: kwarg', { client: 'runner', fun: 'test.arg', kwarg: { a: 1 } }),
  low('runner: fields', { client: 'runner', fun: 'test.arg', a: 1, b: [1], c: 'true' }),
  low('runner: all three', {
    client: 'runner',
    fun: 'test.arg',
    arg: ['x', 'y=1'],
    kwarg: { y: 2, z: 3 },
    w: 4,
  }),
  low('runner: kwarg as a list', { client: 'runner', fun: 'test.arg', kwarg: ['a'] }),
  low('runner: kwarg as text', { client: 'runner', fun: 'test.arg', kwarg: 'a' }),
  low('runner: kwarg null', { client: 'runner', fun: 'test.arg', kwarg: null }),
  low('runner: full_return', { client: 'runner', fun: 'test.arg', arg: [1], full_return: true }),
  low('runner: timeout as text', { client: 'runner', fun: 'test.arg', timeout: '9' }),
  low('runner: timeout that is no number', { client: 'runner', fun: 'test.arg', timeout: 'x' }),
  low('runner: timeout too short', { client: 'runner', fun: 'test.sleep', arg: [3], timeout: 1 }),
  low('runner: no fun', { client: 'runner' }),
  low('runner: fun as a number', { client: 'runner', fun: 7 }),
  low('runner: fun without a dot', { client: 'runner', fun: 'x' }),
  low('runner: a wrong argument', { client: 'runner', fun: 'jobs.lookup_jid', nosuch: 1 }),
  low('runner: jobs.lookup_jid', {
    client: 'runner',
    fun: 'jobs.lookup_jid',
    jid: '20200101000000000000',
  }),
  low('runner: jobs.lookup_jid by kwarg', {
    client: 'runner',
    fun: 'jobs.lookup_jid',
    kwarg: { jid: '20200101000000000000' },
  }),
  low('runner: an argument too many', { client: 'runner', fun: 'manage.present', tgt: 'x' }),
  low('runner: fun as a list', { client: 'runner', fun: ['test.arg'] }),
  low('runner_async: arg', { client: 'runner_async', fun: 'test.arg', arg: [1] }),
  low('runner_async: full_return', { client: 'runner_async', fun: 'test.arg', full_return: true }),
  low('runner_async: no fun', { client: 'runner_async' }),
  low('runner_async: unknown', { client: 'runner_async', fun: 'nosuch.x' }),
  low('wheel: arg', { client: 'wheel', fun: 'key.finger', arg: ['nosuch'] }),
  low('wheel: kwarg', { client: 'wheel', fun: 'key.finger', kwarg: { match: 'nosuch' } }),
  low('wheel: field', { client: 'wheel', fun: 'key.finger', match: 'nosuch' }),
  low('wheel: arg with =', { client: 'wheel', fun: 'key.finger', arg: ['match=nosuch'] }),
  low('wheel: no argument', { client: 'wheel', fun: 'key.finger' }),
  low('wheel: full_return', {
    client: 'wheel',
    fun: 'key.finger',
    match: 'nosuch',
    full_return: true,
  }),
  low('wheel: unknown', { client: 'wheel', fun: 'nosuch.x' }),
  low('wheel: no fun', { client: 'wheel' }),
  low('wheel: key.list', { client: 'wheel', fun: 'key.list', match: 'acc' }),
  low('wheel: key.name_match', { client: 'wheel', fun: 'key.name_match', match: 'web*' }),
  low('wheel: minions.connected', { client: 'wheel', fun: 'minions.connected' }),
  low('wheel_async', { client: 'wheel_async', fun: 'key.finger', match: 'nosuch' }),
  low('wheel_async: unknown', { client: 'wheel_async', fun: 'nosuch.x' }),
];

const PLACES: readonly AskedCase[] = [
  low('POST /: a query', ECHO, { path: '/?x=1' }),
  low('POST //', ECHO, { path: '//' }),
  low('POST /jobs', ECHO, { path: '/jobs' }),
  low('POST /jobs/x', ECHO, { path: '/jobs/x' }),
  low('POST /jobs: a query', ECHO, { path: '/jobs?x=1' }),
  low('POST /minions', ECHO, { path: '/minions' }),
  low('POST /minions: two chunks', [ECHO, { ...ECHO, tgt: 'nosuch' }], { path: '/minions' }),
  low('POST /minions: no fun', { tgt: '*' }, { path: '/minions' }),
  low(
    'POST /minions: runner',
    { client: 'runner', fun: 'test.arg', tgt: 'web1.example' },
    { path: '/minions' },
  ),
  low('POST /minions/x', ECHO, { path: '/minions/x' }),
  low('POST /minions: a query', ECHO, { path: '/minions?x=1' }),
  low('POST /minions: a text', 'x', { path: '/minions' }),
  low('POST /run: the session', ECHO, { path: '/run' }),
  stranger('POST /run: two chunks', JSON.stringify([{ ...ECHO, ...CREDENTIALS }, { ...ECHO }]), {
    path: '/run',
  }),
  stranger('POST /run: a query', JSON.stringify({ ...ECHO, ...CREDENTIALS }), { path: '/run?x=1' }),
  stranger(
    'POST /run: runner',
    JSON.stringify({ client: 'runner', fun: 'test.arg', arg: [1], ...CREDENTIALS }),
    { path: '/run' },
  ),
  stranger(
    'POST /run: runner refused',
    JSON.stringify({ client: 'runner', fun: 'test.arg', ...CREDENTIALS, username: 'pinger' }),
    { path: '/run' },
  ),
  stranger(
    'POST /run: wheel',
    JSON.stringify({ client: 'wheel', fun: 'key.finger', match: 'x', ...CREDENTIALS }),
    { path: '/run' },
  ),
  stranger(
    'POST /run: wheel with a wrong password',
    JSON.stringify({
      client: 'wheel',
      fun: 'key.finger',
      match: 'x',
      ...CREDENTIALS,
      password: 'x',
    }),
    { path: '/run' },
  ),
  stranger(
    'POST /run: no user',
    JSON.stringify({ ...ECHO, eauth: 'sharedsecret', password: 'x' }),
    { path: '/run' },
  ),
  stranger('POST /run: token null', JSON.stringify({ ...ECHO, token: null }), { path: '/run' }),
  stranger('POST /run: token a number', JSON.stringify({ ...ECHO, token: 7 }), { path: '/run' }),
  stranger('POST /run: token empty', JSON.stringify({ ...ECHO, token: '' }), { path: '/run' }),
  stranger('POST /run: token 0x', JSON.stringify({ ...ECHO, token: '0x7' }), { path: '/run' }),
  stranger('POST /run: nothing', null, { path: '/run' }),
  stranger('POST /run: an unknown type', 'x', { path: '/run', type: 'image/png' }),
  stranger('POST /token: a map', JSON.stringify(CREDENTIALS), { path: '/token' }),
  stranger(
    'POST /token: two',
    JSON.stringify([CREDENTIALS, { ...CREDENTIALS, username: 'pinger' }]),
    { path: '/token' },
  ),
  stranger('POST /token: no password', JSON.stringify({ username: 'api', eauth: 'sharedsecret' }), {
    path: '/token',
  }),
  stranger('POST /token: a wrong password', JSON.stringify({ ...CREDENTIALS, password: 'x' }), {
    path: '/token',
  }),
  stranger('POST /token: nothing', null, { path: '/token' }),
  stranger('POST /token: an empty list', '[]', { path: '/token' }),
  stranger('POST /token: a text', '"x"', { path: '/token' }),
  stranger('POST /token: a form', 'username=api&password=lab-secret&eauth=sharedsecret', {
    path: '/token',
    type: FORM_TYPE,
  }),
  stranger('POST /token: as YAML', JSON.stringify(CREDENTIALS), {
    path: '/token',
    accept: YAML_TYPE,
  }),
  stranger('POST /token: a query', JSON.stringify(CREDENTIALS), { path: '/token?x=1' }),
  raw('POST /logout: a query', null, { path: '/logout?x=1' }),
  raw('POST /logout: a body', '{"a": 1}', { path: '/logout' }),
  raw('POST /logout/x', null, { path: '/logout/x' }),
  raw('POST /hook: nothing', null, { path: '/hook' }),
  raw('POST /hook: a query', '{"a": 1}', { path: '/hook/a?x=1' }),
  raw('POST /hook/: broken JSON', '{', { path: '/hook/' }),
  raw('POST /hook: as YAML', 'a=1', { path: '/hook', type: FORM_TYPE, accept: YAML_TYPE }),
  raw('POST /hook: an unknown type', 'x', { path: '/hook', type: 'image/png' }),
  raw('POST /hook: another answer', '{}', { path: '/hook', accept: 'text/html' }),
  raw('POST /keys: nothing', null, { path: '/keys' }),
  raw('POST /keys: an empty list', '[]', { path: '/keys' }),
  raw('POST /keys: a text', '"x"', { path: '/keys' }),
  raw('POST /keys: no id', JSON.stringify([CREDENTIALS]), { path: '/keys' }),
  raw(
    'POST /keys: a wrong password',
    JSON.stringify([{ mid: 'x', ...CREDENTIALS, password: 'x' }]),
    { path: '/keys' },
  ),
  raw('POST /keys: a client', JSON.stringify([{ mid: 'x', client: 'local' }]), { path: '/keys' }),
  stranger('POST /minions of a stranger', JSON.stringify(ECHO), { path: '/minions' }),
  stranger('POST /: an unknown type of a stranger', 'x', { type: 'image/png' }),
  stranger('POST /: broken JSON of a stranger', '{', {}),
  stranger('GET /nosuch of a stranger', null, { method: 'GET', path: '/nosuch' }),
  stranger('GET /minions of an empty token', null, {
    method: 'GET',
    path: '/minions',
    headers: { 'X-Auth-Token': '' },
  }),
  stranger('GET /stats of a stranger', null, { method: 'GET', path: '/stats' }),
  stranger('GET /events of a wrong token', null, {
    method: 'GET',
    path: '/events',
    headers: { 'X-Auth-Token': 'zz' },
  }),
  stranger('GET /events with a query', null, { method: 'GET', path: '/events?x=1' }),
];

/** All of them. */
export const BESIDE_CASES: readonly AskedCase[] = [
  ...LOG_INS,
  ...GETS,
  ...METHODS,
  ...ACCEPTS,
  ...BODIES,
  ...LOCAL,
  ...CHUNKS,
  ...OTHER_LOCAL,
  ...FUNCTIONS,
  ...PLACES,
];
