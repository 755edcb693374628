import { attributeOf, JinjaError, renderTemplate, saltErrorText, traverseData } from '@brine/jinja';
import { equal, iterate, repr, str, typeName } from '@brine/jinja';
import { PythonRegex, Work } from '@brine/target';
import { many, type WorstWork } from '../worst.ts';

const LONG = 65_536;

/** Expressions that an operator may well write, or should not have, and grains for each. */
const REGEXES: readonly (readonly [pattern: string, text: string])[] = [
  ['(a|a)*b', 'a'.repeat(LONG)],
  ['(a+)+$', `${'a'.repeat(LONG)}b`],
  ['(a*)*b', 'a'.repeat(5_000)],
  ['(a|ab)*c', 'ab'.repeat(20_000)],
  ['(x+x+)+y', 'x'.repeat(100_000)],
  ['(a|a)*\\1b', 'a'.repeat(64)],
  ['(\\w+)\\s\\1(\\w+)*x', 'ab '.repeat(30_000)],
  ['\\s+$', `${' '.repeat(LONG)}x`],
  ['.*,.*=.*', 'a'.repeat(LONG)],
  ['(?:a|b)*?c', 'ab'.repeat(LONG / 2)],
  ['(?:(?=.*b)a)*c', 'a'.repeat(LONG)],
  ['(?<=a)b', 'a'.repeat(LONG)],
  ['\\w+x', 'ü'.repeat(LONG)],
  ['.', 'a'.repeat(LONG)],
  ['', 'a'.repeat(LONG)],
  ['(?i)(ſ|s|S)*k', 'sS'.repeat(LONG / 2)],
];

/** Filters and methods by what they are given; `v` is the grain. */
const ON_TEXTS: readonly string[] = [
  ...['v|striptags', 'v|int', 'v|float', 'v|to_num', 'v|indent(9999)', 'v|indent(100000000)'],
  ...['v|replace("", "abcdefghij" * 100)', 'v|join("x" * 1000)', 'v|wordwrap(1)', 'v|truncate(5)'],
  ...['v|combinations(2)', 'v|permutations', 'v|combinations(99999)', 'v|product(v)', 'v|ipaddr'],
  ...['v|batch(100000000, "x")', 'v|zip_longest(v)', 'v|network_hosts', 'v|regex_escape'],
  ...['v|check_whitelist_blacklist(["*a*b*c", "(a|a)*b"])', 'v|unique', 'v|difference(["a"])'],
  ...['v|symmetric_difference("b")', 'v|is_ip', 'v|human_to_bytes', 'v|wordcount', 'v|quote'],
  ...['v.expandtabs(100000)', 'v.rsplit()', 'v.split()', 'v.join(v)', 'v.center(100000000)'],
  ...[
    'v.replace("a", v)',
    'v.count("aa")',
    'v.find("ab", 3)',
    'v.strip("a")',
    'v.splitlines(true)',
  ],
  ...['v % ()', 'v.format(1)', '"%9999s" % v', 'v * 100', 'v is match("(a|a)*b")', 'v[5]', 'v[1:]'],
  ...['{}|json_query(v)', 'v|json_query("reverse(@)")', 'v|path_join(v)', 'v|strftime', 'v|xml'],
  ...['v|random_shuffle(v)', 'v|mac_str_to_bytes', '[v]|mysql_to_dict("a")', 'v|strftime(v)'],
  ...['0|strftime(v)', '{"a": v}|xml', 'v|filter_by_networks(["10.0.0.0/8"])'],
];
const TEXTS: readonly string[] = [
  ...['a', ' ', '\t', '\n', '<a ', '<!--', '&', '%(', '{:', '1_', '9', '1:', 'ü', '😀', 'a\n'],
].map((one) => one.repeat(LONG / one.length));

const ON_LISTS: readonly string[] = [
  ...['unique', 'union(v)', 'intersect(v)', 'difference(v)', 'symmetric_difference(v)'],
  ...['compare_lists(v)', 'select("in", v)|list', 'sum(start=[])', 'sort', 'groupby("0")'],
  ...['json(indent=100)', 'pprint', 'yaml', 'permutations', 'combinations(3)', 'product(v)'],
  ...['zip(v)|list', 'batch(3, "x")', 'flatten', 'network_hosts', 'join("x" * 10000)', 'max'],
  'map("regex_search", "(a|a)*b")|list',
  ...['filter_by_networks(v)', 'mysql_to_dict("a")', 'random_shuffle("x")', 'compress(v)|list'],
  ...['combinations_with_replacement(3)', 'xml', 'json_query("[].[@, @][] | sort(@)")'],
  ...['json_query("[*].[@, @][][][] | [?contains(@, @)]")', 'json_query("to_string(@)")'],
];
const ITEMS = 4_000;
const LISTS: Readonly<Record<string, () => unknown>> = {
  texts: () => Array.from({ length: ITEMS }, (_, at) => `item${at}`),
  numbers: () => Array.from({ length: ITEMS }, (_, at) => at),
  lists: () => Array.from({ length: ITEMS }, (_, at) => [at]),
  dicts: () => Array.from({ length: ITEMS / 4 }, (_, at) => new Map([['a', at]])),
  networks: () => Array.from({ length: ITEMS }, () => '10.0.0.0/16'),
  addresses: () => Array.from({ length: 1_000 }, () => 'fe80::/118'),
  nested: () => Array.from({ length: 50 }, () => nested(150)),
  'long keys': () => {
    let dict: unknown = 1;
    for (let at = 0; at < 150; at += 1) dict = new Map([['k'.repeat(1_000), dict]]);
    return dict;
  },
};

export const templates: WorstWork = {
  of: [
    ...[
      ...['renderTemplate', 'attributeOf', 'traverseData', 'equal', 'iterate', 'repr', 'str'],
      ...['saltErrorText', 'saltErrorHead', 'typeName'],
    ].map((name) => `jinja.${name}`),
    'target.PythonRegex',
  ],
  inputs: () => [
    ...REGEXES.flatMap(([pattern, text]) =>
      ['regex_match(p)', 'regex_search(p)', 'regex_replace(p, "<\\\\g<0>>")'].map(
        (filter) =>
          [
            `${filter} with ${pattern} on ${text.length} characters`,
            () => render(`{{ (v|${filter}) is none }}`, text, pattern),
          ] as const,
      ),
    ),
    ...TEXTS.flatMap((text) =>
      ON_TEXTS.map(
        (expression) =>
          [
            `${expression} on ${JSON.stringify(text.slice(0, 4))}…`,
            () => render(`{{ (${expression}) is none }}`, text),
          ] as const,
      ),
    ),
    ...Object.entries(LISTS).flatMap(([name, make]) => {
      const list = make();
      return ON_LISTS.map(
        (filter) =>
          [`${filter} on ${name}`, () => render(`{{ (v|${filter}) is none }}`, list)] as const,
      );
    }),
    ...functions(),
  ],
};

function render(template: string, grain: unknown, pattern = ''): string {
  const outside = { now: () => 0, random: () => 0.5, load: () => undefined };
  const variables = new Map<string, unknown>([
    ['v', grain],
    ['p', pattern],
  ]);
  return renderTemplate(template, { variables, outside });
}

function functions(): ReturnType<WorstWork['inputs']> {
  const texts = Array.from({ length: ITEMS }, (_, at) => `item${at}`);
  const path = 'a:'.repeat(LONG);
  const error = new JinjaError('Runtime', 'x', 9);
  return [
    ['a path', () => traverseData(nested(150), path, null, ':')],
    ['an attribute', () => attributeOf(new Map([[path, 1]]), path)],
    ['two lists', () => equal(texts, [...texts])],
    ['a value as text', () => [str(nested(150)), repr(texts), iterate(path), typeName(texts)]],
    [
      'an error of a long template',
      () =>
        saltErrorText(
          error,
          many(ITEMS, () => 'x', '\n'),
        ),
    ],
    [
      'a search',
      () => {
        const work = Work.ofTemplate(LONG);
        return new PythonRegex('(a|a)*b', {}, work).search('a'.repeat(LONG), work);
      },
    ],
  ];
}

function nested(depth: number): unknown {
  let list: unknown = [];
  for (let at = 0; at < depth; at += 1) list = [list];
  return list;
}
