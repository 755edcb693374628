// Makes a library from a skeleton: npm run new-lib -- <name> <ground|edge|rule|part> "<purpose>"
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

const FLOORS = ['ground', 'edge', 'rule', 'part'] as const;
type Floor = (typeof FLOORS)[number];

/** Inputs for a new library. */
export interface NewLib {
  readonly name: string;
  readonly floor: Floor;
  readonly purpose: string;
}

/** Reads the arguments; throws the usage if they are invalid. */
export function readArguments([name, floor, purpose]: readonly string[]): NewLib {
  const usage = 'usage: npm run new-lib -- <name> <ground|edge|rule|part> "<what it is for>"';
  if (name === undefined || !/^[a-z][a-z0-9-]*$/.test(name)) throw new Error(usage);
  const known = FLOORS.find((candidate) => candidate === floor);
  if (known === undefined || purpose === undefined || purpose === '') throw new Error(usage);
  if (/^(common|shared|utils?|core|types|interfaces|helpers?)$/.test(name)) {
    throw new Error(`'${name}' is too general: name the library after its subject`);
  }
  return { name, floor: known, purpose };
}

/** Writes the skeleton below a workspace; throws if the library exists. */
export function makeLib(root: string, lib: NewLib): string[] {
  const dir = join(root, 'libs', lib.name);
  if (existsSync(dir)) throw new Error(`libs/${lib.name} exists`);
  mkdirSync(join(dir, 'src'), { recursive: true });
  const files: Record<string, string> = {
    'package.json': json(packageOf(lib)),
    'tsconfig.json': json({
      extends: '../../tsconfig.base.json',
      compilerOptions: {
        rootDir: 'src',
        outDir: 'dist',
        tsBuildInfoFile: 'dist/tsconfig.tsbuildinfo',
      },
      include: ['src/**/*.ts'],
      exclude: ['src/**/*.test.ts'],
      references: [],
    }),
    'README.md': readmeOf(lib),
    'src/index.ts': '// The door: named exports only, types apart.\nexport {};\n',
  };
  for (const [name, text] of Object.entries(files)) writeFileSync(join(dir, name), text);
  addReference(join(root, 'tsconfig.json'), `libs/${lib.name}`);
  return Object.keys(files).map((name) => `libs/${lib.name}/${name}`);
}

function packageOf({ name, floor, purpose }: NewLib): object {
  return {
    name: `@brine/${name}`,
    version: '0.2.0',
    private: true,
    description: purpose,
    license: 'Apache-2.0',
    type: 'module',
    engines: { node: '>=20.20' },
    exports: {
      '.': { source: './src/index.ts', types: './dist/index.d.ts', default: './dist/index.js' },
    },
    scripts: {
      build: 'tsc -b',
      lint: 'eslint .',
      pure: `vitest run --root ../.. --project pure libs/${name}/ --passWithNoTests`,
    },
    dependencies: {},
    nx: { tags: [`floor:${floor}`] },
  };
}

function readmeOf({ name, purpose }: NewLib): string {
  return [
    `# @brine/${name}\n\n${purpose}\n`,
    '```\nsrc/index.ts   the door\n```\n',
    'Open first: `src/index.ts`.\n',
  ].join('\n');
}

function addReference(path: string, lib: string): void {
  const config = JSON.parse(readFileSync(path, 'utf8')) as { references: { path: string }[] };
  config.references.push({ path: lib });
  writeFileSync(path, json(config));
}

function json(value: object): string {
  return `${JSON.stringify(value, null, 2)}\n`;
}

if (process.argv[1] === new URL(import.meta.url).pathname) {
  try {
    const lib = readArguments(process.argv.slice(2));
    for (const file of makeLib(new URL('..', import.meta.url).pathname, lib)) console.log(file);
    console.log('Next: npm install.');
  } catch (error) {
    console.error((error as Error).message);
    process.exitCode = 64;
  }
}
