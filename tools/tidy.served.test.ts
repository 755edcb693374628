// Hygiene that no linter looks at, over what git knows of (and what it would take up).
import { execFileSync } from 'node:child_process';
import { existsSync, readdirSync, readFileSync, statSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { MASTER_SERVICES } from '@brine/service/processes';
import { describe, expect, test } from 'vitest';
import { MARKER, renewReference } from './config-docs.ts';

const ROOT = new URL('..', import.meta.url).pathname;
const COLUMNS_MAX = 100;
const README_LINES_MAX = 40;
/** More than this many files beside each other want rooms. */
const FILES_MAX = 20;
/** More than this many names in an `index.ts` want a second door. */
const DOOR_MAX = 50;

const files = listFiles()
  .filter((path) => path !== '' && existsSync(join(ROOT, path)))
  .filter((path) => !path.startsWith('test/fixtures/') && path !== 'package-lock.json');

const texts = files
  .filter((path) =>
    /\.(tsx?|mjs|cjs|js|json|css|html|ya?ml|md|sql|conf|sh)$|Dockerfile$/.test(path),
  )
  .map((path) => ({ path, text: readFileSync(join(ROOT, path), 'utf8') }));

const sources = texts.filter(({ path }) => /\.(tsx?|mjs|cjs|js)$/.test(path));

const projects = [
  ...new Set(
    files.map(
      (path) => /^(?:(?:libs|apps)\/[^/]+|tools\/[^/]+(?=\/package\.json$))/.exec(path)?.[0] ?? '',
    ),
  ),
].filter((path) => path !== '');

/** What git knows of and would take up; without git (an unpacked archive) what lies there. */
function listFiles(): string[] {
  if (existsSync(join(ROOT, '.git'))) {
    const args = ['ls-files', '-co', '--exclude-standard'];
    return execFileSync('git', args, { cwd: ROOT, encoding: 'utf8' }).split('\n');
  }
  const skipped = /(^|\/)(node_modules|dist|\.nx|coverage)(\/|$)/;
  return readdirSync(ROOT, { recursive: true, encoding: 'utf8' }).filter(
    (path) => !skipped.test(path) && statSync(join(ROOT, path)).isFile(),
  );
}

function linesOf(text: string): string[] {
  return text.replace(/\n$/, '').split('\n');
}

describe('files', () => {
  test(`no line of a source has more than ${COLUMNS_MAX} columns, but for long literals`, () => {
    const wide = sources.flatMap(({ path, text }) =>
      linesOf(text)
        .map((line, index) => ({ line, where: `${path}:${index + 1}` }))
        .filter(
          ({ line }) =>
            line.length > COLUMNS_MAX && !/['"`/]\S{60,}|https?:|\b(?:test|it)\(/.test(line),
        ),
    );
    expect(wide.map(({ where }) => where)).toEqual([]);
  });

  test('every text ends with one line end and has no tabs or trailing blanks', () => {
    const bad = texts.filter(
      ({ path, text }) =>
        text !== '' &&
        (!text.endsWith('\n') ||
          text.endsWith('\n\n') ||
          (/[ \t]$/m.test(text) && !path.endsWith('.md'))),
    );
    expect(bad.map(({ path }) => path)).toEqual([]);
  });

  test('names are kebab-case', () => {
    const odd = sources.filter(({ path }) => !/(^|\/)[a-z0-9.-]+$/.test(path));
    expect(odd.map(({ path }) => path)).toEqual([]);
  });

  test('no file names a path of a private machine or a private registry', () => {
    const homes = new RegExp(['/ho' + 'me/[a-z]', '/Use' + 'rs/[a-z]', '/wo' + 'rk/'].join('|'));
    const found = texts.filter(({ text }) => homes.test(text));
    expect(found.map(({ path }) => path)).toEqual([]);
    const lock = readFileSync(join(ROOT, 'package-lock.json'), 'utf8');
    const hosts = [...lock.matchAll(/"resolved": "https?:\/\/([^/"]+)/g)].map(([, host]) => host);
    expect([...new Set(hosts)].filter((host) => host !== 'registry.npmjs.org')).toEqual([]);
  });

  test('no test is skipped, focused or left to do, and no work is left as a note', () => {
    const notes = new RegExp(
      ['TO' + 'DO', 'FIX' + 'ME', 'XX' + 'X'].map((w) => `\\b${w}\\b`).join('|'),
    );
    const marks = /\b(?:test|it|describe)\.(?:skip|only|todo|skipIf|runIf)\b/;
    const found = sources.filter(({ text }) => notes.test(text) || marks.test(text));
    expect(found.map(({ path }) => path)).toEqual([]);
  });

  test('scripts that are run by name may be executed', () => {
    const runs = files.filter((path) => path === '.ci/run' || path.endsWith('.sh'));
    const not = runs.filter((path) => (statSync(join(ROOT, path)).mode & 0o111) === 0);
    expect(not).toEqual([]);
  });
});

describe('rooms', () => {
  test(`no folder has more than ${FILES_MAX} sources; a test beside its subject is one with it`, () => {
    const subjects = new Map<string, Set<string>>();
    for (const { path } of sources) {
      const folder = dirname(path);
      const found = subjects.get(folder) ?? new Set();
      subjects.set(folder, found.add(basename(path).replace(/\..*$/, '')));
    }
    const full = [...subjects].filter(([, found]) => found.size > FILES_MAX);
    expect(full.map(([folder, found]) => `${folder}: ${found.size}`)).toEqual([]);
  });

  test(`no door offers more than ${DOOR_MAX} names`, () => {
    const doors = sources.filter(({ path }) => /^libs\/.*\/src\/.*\bindex\.ts$/.test(path));
    const sizes = doors.map(({ path, text }) => {
      const lists = [...text.matchAll(/^export (?:type )?\{([^}]*)\}/gm)];
      const names = lists.flatMap(([, list = '']) => list.split(',').filter((name) => name.trim()));
      return { path, size: names.length };
    });
    expect(sizes.filter(({ size }) => size > 0).length).toBeGreaterThan(20);
    expect(sizes.filter(({ size }) => size > DOOR_MAX)).toEqual([]);
  });
});

describe('projects', () => {
  test('each has a README, and it is short', () => {
    const lengths = projects.map((project) => {
      const path = join(ROOT, project, 'README.md');
      if (!existsSync(path)) return `${project}: none`;
      const [head = ''] = readFileSync(path, 'utf8').split(MARKER, 1);
      const lines = linesOf(head.trimEnd()).length;
      return lines > README_LINES_MAX ? `${project}: ${lines} lines` : '';
    });
    expect(lengths.filter((problem) => problem !== '')).toEqual([]);
  });

  test('all have one version and one licence', () => {
    const manifests = ['.', ...projects].map(
      (project) =>
        JSON.parse(readFileSync(join(ROOT, project, 'package.json'), 'utf8')) as {
          version: string;
          license: string;
        },
    );
    expect([...new Set(manifests.map(({ version }) => version))]).toHaveLength(1);
    expect([...new Set(manifests.map(({ license }) => license))]).toEqual(['Apache-2.0']);
  });

  test('the lockfile names the packages of all platforms, or `npm ci` refuses it', () => {
    const lock = JSON.parse(readFileSync(join(ROOT, 'package-lock.json'), 'utf8')) as {
      packages: Record<string, { optionalDependencies?: Record<string, string> }>;
    };
    const missing = Object.entries(lock.packages).flatMap(([path, entry]) =>
      Object.keys(entry.optionalDependencies ?? {}).filter(
        (name) =>
          lock.packages[`node_modules/${name}`] === undefined &&
          lock.packages[`${path}/node_modules/${name}`] === undefined,
      ),
    );
    expect(missing).toEqual([]);
  });

  test('each is part of the build', () => {
    const { references } = JSON.parse(readFileSync(join(ROOT, 'tsconfig.json'), 'utf8')) as {
      references: { path: string }[];
    };
    expect(references.map(({ path }) => path).sort()).toEqual([...projects].sort());
  });

  test('each service that the supervisor starts is an app', () => {
    expect(MASTER_SERVICES.filter((name) => !projects.includes(`apps/${name}`))).toEqual([]);
  });
});

/** Lines of the documents that a reader sees as they stand: not those of listings. */
const prose = texts
  .filter(({ path }) => path.endsWith('.md'))
  .flatMap(({ path, text }) => {
    let listing = false;
    return linesOf(text).flatMap((line, index) => {
      if (/^\s*(```|~~~)/.test(line)) listing = !listing;
      return listing ? [] : [{ line, where: `${path}:${index + 1}` }];
    });
  });

describe('documents', () => {
  test('cells of tables are not padded, so that tables can be read in a terminal', () => {
    const padded = prose.filter(({ line }) => /^\s*\|.*(\S {2,}\||\| {2,}\S|-{4})/.test(line));
    expect(padded.map(({ where }) => where)).toEqual([]);
  });

  test('the changelog has the form of Keep a Changelog', () => {
    const text = readFileSync(join(ROOT, 'CHANGELOG.md'), 'utf8');
    const headings = linesOf(text).filter((line) => line.startsWith('## '));
    expect(headings[0]).toBe('## [Unreleased]');
    const form = /^## \[\d+\.\d+\.\d+\] - \d{4}-\d{2}-\d{2}$/;
    expect(headings.slice(1).filter((line) => !form.test(line))).toEqual([]);
    const kinds = linesOf(text).filter((line) => line.startsWith('### '));
    const known = /^### (Added|Changed|Deprecated|Removed|Fixed|Security)$/;
    expect(kinds.filter((line) => !known.test(line))).toEqual([]);
  });

  test('the reference of options is up to date', () => {
    const readme = readFileSync(join(ROOT, 'libs/config/README.md'), 'utf8');
    expect(renewReference(readme)).toBe(readme);
  });
});
