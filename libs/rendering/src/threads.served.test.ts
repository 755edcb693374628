// The build is under test, as a worker runs it: `npm test` has made it.
import { execFileSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';

let dir = '';
beforeAll(() => {
  dir = mkdtempSync(join(tmpdir(), 'brine-threads-'));
  const repository = join(dir, 'repository');
  mkdirSync(join(dir, 'classes', 'nodes'), { recursive: true });
  mkdirSync(repository);
  writeFileSync(join(dir, 'classes/nodes/a.yml'), 'environment: base\nstates: [web]\n');
  writeFileSync(join(repository, 'top.sls'), "base: {'*': [a]}\n");
  writeFileSync(join(repository, 'a.sls'), 'of_git: {{ grains.os }}\n');
  const who = ['-c', 'user.name=t', '-c', 'user.email=t@example.com'];
  for (const args of [
    ['init', '-q', '-b', 'main'],
    ['add', '-A'],
    ['commit', '-q', '-m', 'a'],
  ]) {
    execFileSync('git', [...who, ...args], { cwd: repository, stdio: 'ignore' });
  }
});
afterAll(() => rmSync(dir, { recursive: true, force: true }));

/** Runs a script on the build, with `pillars`, `sls` and `asked`. Gives the value of its body. */
function inWorker(body: string, repository: string): unknown {
  const extPillar = [{ git: [`main ${join(dir, repository)}`] }];
  const config = { cachedir: join(dir, 'cache'), ext_pillar: extPillar, git_pillar_base: 'main' };
  writeFileSync(join(dir, 'master'), JSON.stringify(config));
  const script = `
    import { loadMasterConfig } from '@brine/config';
    import { ThreadedPillars, ThreadedSls } from '@brine/rendering';
    import { mapOf } from '@brine/wire';
    const { options } = loadMasterConfig({ configDir: process.argv[1], env: {} });
    const lines = [];
    const pillars = new ThreadedPillars(options, (line) => lines.push(line));
    const sls = new ThreadedSls(options, (line) => lines.push(line));
    const asked = (more) => mapOf({ id: 'a', grains: mapOf({ os: 'Debian' }), ...more });
    const value = await (async () => { ${body} })();
    await Promise.all([pillars.close(), sls.close()]);
    const plain = (_key, one) => (one instanceof Map ? Object.fromEntries(one) : one);
    console.log(JSON.stringify({ value, lines }, plain));`;
  const cwd = new URL('..', import.meta.url).pathname;
  const args = ['--input-type=module', '-e', script, dir];
  const env = { PATH: process.env['PATH'] };
  return JSON.parse(execFileSync(process.execPath, args, { cwd, env, encoding: 'utf8' }));
}

test('a pillar of a repository that the worker fetches for its thread', () => {
  const body = `
    const pillar = await pillars.render(asked());
    return [pillar, pillars.gitFetchedMs() > 0, await pillars.updateGit(null, null)];`;
  const updated = { [`main ${join(dir, 'repository')}`]: null };
  expect(inWorker(body, 'repository')).toEqual({
    value: [{ of_git: 'Debian' }, true, updated],
    lines: [],
  });
});

test('a repository that is not there gives `_errors` and a line for the log', () => {
  expect(inWorker('return pillars.render(asked());', 'none')).toMatchObject({
    value: { _errors: [expect.stringContaining('git')] },
    lines: [
      expect.stringMatching(/^error: git_pillar: .* was not fetched: git fetch: /),
      expect.stringMatching(/^error: Failed to load ext_pillar git: .* has no main$/),
    ],
  });
});

test('the top file and a saltclass tree come without a pillar', () => {
  const body = `
    const classes = '${join(dir, 'classes')}';
    return [await pillars.top(asked()), await pillars.classTops(classes, asked())];`;
  expect(inWorker(body, 'none')).toEqual({ value: [{}, { base: ['web'] }], lines: [] });
});

test('a file of states has files and runners of its worker', () => {
  const body = `
    const needs = {
      piece: async (env, path, loc) =>
        path === 'x/a.sls' ? Buffer.from(loc === 0 ? 'n: {{ n }}' : '') : undefined,
      runner: async (fun) => 'ran ' + fun,
    };
    const file = { sls: 'x.a', path: 'x/a.sls', saltenv: 'base', defaults: mapOf({ n: 7 }) };
    return [
      await sls.ask(asked(file), needs),
      await sls.ask(asked({ fun: 'saltutil.runner', args: ['jobs.active'] }), needs),
      (await sls.ask(asked({ fun: 'no.such' }), needs)).has('error'),
    ];`;
  const value = [{ value: { n: 7 } }, { value: 'ran jobs.active' }, true];
  const lines = [expect.stringContaining('asks for the function no.such')];
  expect(inWorker(body, 'none')).toEqual({ value, lines });
});
