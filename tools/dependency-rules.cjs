// The floors of the house, for dependency-cruiser (`npm run boundaries`); see CONTRIBUTING.md.
// What a package may import is said by the tags in its package.json, and nowhere else:
//   floor:ground   computes; imports ground and no sockets, files, clocks
//   floor:system   files and processes of this machine; imports ground
//   floor:edge     wraps one outside system; imports ground and system
//   floor:rule     what a master does; declares ports, imports ground
//   floor:part     joins rules to edges; imports both, and other parts
//   floor:service  what every process has in common
//   floor:app      wiring; floor:testing is for tests alone
//   on:<lib>       one more library that this one stands on
//   owns:<package> an outside package that only those with this tag import
const { readdirSync, readFileSync, existsSync } = require('node:fs');
const { join } = require('node:path');
const { unusedTags } = require('./boundaries/unused-tags.cjs');

const ROOT = join(__dirname, '..');
// Tests, what the tests of one library share (<name>/test/), and benchmarks.
const TESTS = '(\\.(test|fixture)\\.ts$|^(libs|apps|tools)/[^/]+/(test|bench)/)';
// A library has one door, or one for each of its rooms that others use.
const DOORS = ['^libs/[^/]+/src/index\\.ts$', '^libs/[^/]+/src/[^/]+/index\\.ts$'];

const packages = ['libs', 'apps', 'tools'].flatMap((dir) =>
  readdirSync(join(ROOT, dir))
    .map((name) => ({ name, path: `${dir}/${name}` }))
    .filter(({ path }) => existsSync(join(ROOT, path, 'package.json')))
    .map((found) => {
      const manifest = JSON.parse(readFileSync(join(ROOT, found.path, 'package.json'), 'utf8'));
      const tags = manifest.nx?.tags ?? [];
      const of = (kind) =>
        tags.filter((tag) => tag.startsWith(kind)).map((tag) => tag.slice(kind.length));
      const [floor] = of('floor:');
      if (floor === undefined) throw new Error(`${found.path} has no floor`);
      return { ...found, floor, on: of('on:'), owns: of('owns:') };
    }),
);

const on = (...floors) => packages.filter(({ floor }) => floors.includes(floor));
const anyOf = (found) => `^(${found.map(({ path }) => path).join('|')})/`;
const GROUND = anyOf(on('ground'));
// What builds and what loads the native part of a library: code, as an import is.
const NATIVE = '^libs/crypt/(native/build\\.mjs|src/native-seal\\.ts)$';

/** What the packages of a floor may import besides themselves and what they are tagged for. */
const BELOW = {
  ground: ['ground'],
  system: ['ground'],
  edge: ['ground', 'system'],
  rule: ['ground'],
  service: ['ground', 'system'],
  part: ['ground', 'system', 'edge', 'rule', 'service', 'part'],
  app: ['ground', 'system', 'edge', 'rule', 'service', 'part'],
  testing: ['ground', 'system', 'edge', 'rule', 'service', 'part', 'app', 'testing', 'tool'],
  tool: ['ground', 'system', 'edge', 'rule', 'service', 'part', 'tool'],
};

const unused = unusedTags(ROOT, packages, BELOW);
if (unused.length > 0) throw new Error(`tags without use:\n${unused.join('\n')}`);

const floors = packages.map(({ path, floor, on: also }) => {
  const below = on(...BELOW[floor]).map((found) => found.path);
  const named = also.map((name) => `libs/${name}`);
  return {
    name: `${path.replace('/', '-')}-stands-on-its-floor`,
    comment: `${path} is of floor:${floor}: its tags say what it may import.`,
    severity: 'error',
    from: { path: `^${path}/`, pathNot: TESTS },
    to: {
      path: '^(libs|apps|tools)/',
      pathNot: [path, ...below, ...named].map((one) => `^${one}/`),
    },
  };
});

const owned = [...new Set(packages.flatMap(({ owns }) => owns))].map((outside) => {
  const owners = packages.filter(({ owns }) => owns.includes(outside));
  return {
    name: `only-owners-import-${outside.replace(/[^a-z-]/g, '')}`,
    comment: `${outside} belongs to ${owners.map(({ path }) => path).join(', ')}.`,
    severity: 'error',
    from: {
      path: '^(libs|apps)/',
      pathNot: [...owners.map(({ path }) => `^${path}/`), '^libs/testing/', TESTS],
    },
    to: {
      path: `(^|/)node_modules/${outside}`,
      dependencyTypesNot: ['type-only'],
    },
  };
});

module.exports = {
  forbidden: [
    {
      name: 'no-cycles',
      comment: 'Who needs whom must have an answer, of types too.',
      severity: 'error',
      from: {},
      to: { circular: true },
    },
    {
      name: 'ground-is-pure',
      comment:
        'Ground computes: no sockets, files, clocks. Of Node only crypto, buffer, assert and util.',
      severity: 'error',
      from: { path: GROUND, pathNot: [TESTS, NATIVE] },
      to: { dependencyTypes: ['core'], pathNot: '^(node:)?(crypto|buffer|assert|util)$' },
    },
    {
      name: 'through-the-door',
      comment: 'A library is imported by its doors only.',
      severity: 'error',
      from: { path: '^(libs|apps|tools)/([^/]+)/' },
      to: { path: '^libs/[^/]+/src/', pathNot: [...DOORS, '^$1/$2/'] },
    },
    ...floors,
    ...owned,
  ],
  options: {
    doNotFollow: { path: 'node_modules' },
    exclude: { path: '(^|/)(dist|fixtures)/' },
    tsConfig: { fileName: 'tsconfig.test.json' },
    tsPreCompilationDeps: true,
    enhancedResolveOptions: {
      conditionNames: ['source', 'import', 'node', 'default'],
      exportsFields: ['exports'],
      extensions: ['.ts', '.tsx', '.js', '.mjs', '.cjs', '.json'],
    },
  },
};
