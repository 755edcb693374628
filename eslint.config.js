import { defineConfig, globalIgnores } from 'eslint/config';
import reactHooks from 'eslint-plugin-react-hooks';
import importSort from 'eslint-plugin-simple-import-sort';
import tseslint from 'typescript-eslint';
import plainWords from './tools/lint/plain-words.mjs';

const SHAPES = [
  { selector: 'ExportDefaultDeclaration', message: 'Name what you export.' },
  { selector: 'ExportAllDeclaration', message: 'List what you export.' },
  { selector: 'TSEnumDeclaration', message: 'A constant object and a union instead.' },
  {
    selector: 'ObjectExpression > SpreadElement > ObjectExpression',
    message: 'List the properties in the outer object.',
  },
  {
    selector:
      "AssignmentExpression > MemberExpression.left[object.name='process'][property.name='env']",
    message: 'A plain object is no environment: set its variables (in tests with vi.stubEnv).',
  },
];

const PROMISED_TIME = [
  "NewExpression[callee.name='Promise']",
  "CallExpression[callee.name='setTimeout'][arguments.0.type='Identifier']",
].join(' ');
const WAITS = 'A test waits for an event, or by a named time: @brine/testing/waits.';

/** Time as evidence: a slow machine makes it fail, or it passes without the thing under test. */
const NO_PROOFS = [
  {
    selector: [
      'CallExpression[callee.property.name=/^toBeLessThan/]',
      "CallExpression[callee.name='expect'] > BinaryExpression[operator='-']",
      "> CallExpression.left[callee.property.name='now']" +
        '[callee.object.name=/^(performance|Date)$/]',
    ].join(' '),
    message:
      'Others on the machine take time too. Measure cpuMs, or await something that ends only in ' +
      'the right way.',
  },
  {
    selector: [
      "ExpressionStatement[expression.type='AwaitExpression']",
      '[expression.argument.callee.name=/^(loadPauses|workTakes)$/]',
      ' + ExpressionStatement CallExpression',
      "[callee.name='expect']",
    ].join(''),
    message:
      'A time that has passed is no proof. Hold the work back by a Gate, or wait for something ' +
      'that comes later on the same way.',
  },
  {
    selector: [
      "CallExpression[callee.name='until'] ReturnStatement > UnaryExpression[operator='!']",
      "> CallExpression[callee.property.name='includes'][callee.object.name=/^std(out|err)$/]",
    ].join(' '),
    message: 'A command that failed does not print it either. Wait for what it prints.',
  },
];

/** JavaScript that runs as it is: before a build, or in a thread. */
const SCRIPTS = ['**/*.{js,mjs,cjs}'];

const NODE_GLOBALS = Object.fromEntries(
  [
    'AbortController',
    'Atomics',
    'Buffer',
    'URL',
    'clearInterval',
    'clearTimeout',
    'console',
    'fetch',
    'performance',
  ]
    .concat(['process', 'setImmediate', 'setInterval', 'setTimeout', 'SharedArrayBuffer'])
    .map((name) => [name, 'readonly']),
);

/** What the compiler finds in TypeScript. */
const SCRIPT_RULES = {
  'no-undef': 'error',
  'no-unreachable': 'error',
  'no-dupe-keys': 'error',
  'no-dupe-else-if': 'error',
  'no-const-assign': 'error',
  'no-fallthrough': 'error',
  'no-unsafe-finally': 'error',
  'no-self-assign': 'error',
  'use-isnan': 'error',
  'valid-typeof': 'error',
};

const UNUSED = [
  'error',
  { argsIgnorePattern: '^_', varsIgnorePattern: '^_', caughtErrors: 'none' },
];

/** A function does one thing. Lists of cases and of wiring have no such bound. */
const FUNCTION_LINES_MAX = 70;

const IMPORTS = {
  'simple-import-sort/imports': ['error', { groups: [['^node:', '^@?\\w', '^\\.']] }],
  'simple-import-sort/exports': 'error',
};

export default defineConfig([
  globalIgnores(['**/dist/', '**/node_modules/', '.nx/', 'test/fixtures/']),
  {
    files: ['**/*.{ts,tsx}', ...SCRIPTS],
    plugins: { 'simple-import-sort': importSort },
    rules: IMPORTS,
  },
  {
    files: SCRIPTS,
    extends: [tseslint.configs.recommended],
    languageOptions: { globals: NODE_GLOBALS },
    rules: {
      eqeqeq: ['error', 'always', { null: 'ignore' }],
      ...SCRIPT_RULES,
      '@typescript-eslint/no-unused-vars': UNUSED,
    },
  },
  {
    files: ['**/*.cjs'],
    languageOptions: {
      globals: { __dirname: 'readonly', module: 'writable', require: 'readonly' },
    },
    rules: { '@typescript-eslint/no-require-imports': 'off' },
  },
  {
    files: ['**/*.{ts,tsx}', ...SCRIPTS],
    // Wiring reads from top to bottom, however long.
    ignores: ['**/*.test.ts', 'test/**', 'apps/*/src/start.ts', '**/open-master.ts'],
    rules: {
      'max-lines-per-function': [
        'error',
        { max: FUNCTION_LINES_MAX, skipBlankLines: false, skipComments: false },
      ],
    },
  },
  {
    files: ['**/*.{ts,tsx}'],
    ignores: ['**/*.{test,fixture}.ts', '{test,{libs,apps,tools}/*/{test,bench}}/**'],
    plugins: { brine: plainWords },
    rules: { 'brine/plain-words': 'error' },
  },
  {
    // Names of APIs of engines and browsers, of rows, messages between releases, and metrics.
    files: [
      'apps/console/src/live/live-stream.ts',
      'apps/syndic-relay/src/adapters/downward.ts',
      'libs/engines/src/{engine,child/engine-link}.ts',
      'libs/host/src/event-feed.ts',
      'libs/job-cache/src/{durable/durable-row,read/silent-minions}.ts',
      'libs/job/src/durable/durable.ts',
      'libs/master-state/src/{requests/request-ids,streams/stored-acks}.ts',
      'libs/testing/src/other-user.ts',
    ],
    rules: { 'brine/plain-words': ['error', { names: false }] },
  },
  {
    files: ['**/*.{ts,tsx}'],
    extends: [tseslint.configs.recommendedTypeChecked],
    languageOptions: {
      parserOptions: {
        project: ['./tsconfig.test.json', './apps/console/tsconfig.test.json'],
        tsconfigRootDir: import.meta.dirname,
      },
    },
    rules: {
      eqeqeq: ['error', 'always', { null: 'ignore' }],
      'no-console': 'error',
      'no-restricted-syntax': ['error', ...SHAPES],
      '@typescript-eslint/consistent-type-imports': [
        'error',
        { fixStyle: 'inline-type-imports', disallowTypeAnnotations: false },
      ],
      '@typescript-eslint/no-explicit-any': 'error',
      '@typescript-eslint/no-non-null-assertion': 'error',
      '@typescript-eslint/switch-exhaustiveness-check': [
        'error',
        { considerDefaultExhaustiveForUnions: true },
      ],
      '@typescript-eslint/no-floating-promises': 'error',
      // A port is async for callers that need it; an implementation that does not keeps the shape.
      '@typescript-eslint/require-await': 'off',
      '@typescript-eslint/restrict-template-expressions': [
        'error',
        { allowNumber: true, allowBoolean: true },
      ],
      '@typescript-eslint/no-unused-vars': UNUSED,
      // `switch (true)` style and unions of literals with string are fine; what is left pays.
      '@typescript-eslint/no-unsafe-enum-comparison': 'off',
    },
  },
  {
    files: ['apps/console/src/**/*.{ts,tsx}'],
    extends: [reactHooks.configs.flat.recommended],
    // Its compiler is not used.
    rules: { 'react-hooks/incompatible-library': 'off' },
  },
  {
    files: ['**/*.test.ts', 'test/**/*.ts', 'libs/testing/**/*.ts'],
    rules: {
      '@typescript-eslint/no-non-null-assertion': 'off',
      '@typescript-eslint/no-unsafe-assignment': 'off',
      '@typescript-eslint/no-unsafe-member-access': 'off',
      '@typescript-eslint/no-unsafe-argument': 'off',
      'no-restricted-properties': [
        'error',
        {
          object: 'vi',
          property: 'waitFor',
          message: WAITS,
        },
        {
          object: 'vi',
          property: 'waitUntil',
          message: WAITS,
        },
      ],
    },
  },
  {
    files: ['**/*.test.ts'],
    rules: {
      'no-restricted-imports': ['error', { name: 'node:timers/promises', message: WAITS }],
      'no-restricted-syntax': [
        'error',
        ...SHAPES,
        {
          selector: PROMISED_TIME,
          message: WAITS,
        },
        ...NO_PROOFS,
      ],
    },
  },
  {
    // The configuration files of tools must export a default, and so must a reporter of vitest.
    files: ['**/*.config.ts', 'tools/tests/reporter.ts'],
    rules: { 'no-restricted-syntax': 'off' },
  },
  {
    // Commands and benchmarks print; that is what they are for.
    files: ['tools/**/*.ts', 'apps/cli/src/**/*.ts', '**/bench/**/*.ts'],
    rules: { 'no-console': 'off' },
  },
]);
