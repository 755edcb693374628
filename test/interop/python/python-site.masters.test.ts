import type { Server } from 'node:http';
import { BrineMaster, type SaltOutput, SaltSandbox, type SaltVenv, saltVenv } from '@brine/testing';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { placeModules, placeSite, startSecrets, withPackages } from './site.ts';

/*
 * A site with modules in Python, once under stock Salt 3008.2 and once under Brine with
 * `brine.python`: the same commands give the same.
 */

const RUNNER_SECONDS = 5;

/** Calls whose results are compared as JSON. */
const CALLS: readonly (readonly string[])[] = [
  ['site.greet', 'you'],
  ['site.greet', 'you', 'greeting=Good day', 'extra=[1, 2]'],
  ['site.facts'],
  ['more.double', '4'],
  ['site.answer', '--out=shout'],
  ['pillar.show_pillar', 'web1'],
  ['pillar.show_pillar', 'db2', 'fqdn=db2.example', 'role=db'],
];

describe('a site with modules in Python', () => {
  let venv: SaltVenv;
  let secrets: Server;
  let brine: BrineMaster;
  let stock: SaltSandbox;
  let place: SaltSandbox;
  let stockHome: Awaited<ReturnType<SaltSandbox['master']>>;

  beforeAll(async () => {
    stock = await SaltSandbox.create();
    venv = await withPackages(await saltVenv('3008.2'), stock.dir);
    const { url, server } = await startSecrets();
    secrets = server;
    stockHome = await stock.master(await placeSite(stock.dir, url));
    await placeModules(stockHome);
    await stock.startMaster(venv, stockHome);
    place = await SaltSandbox.create();
    const python = { python: venv.python, python_timeout: RUNNER_SECONDS };
    const site = { ...(await placeSite(place.dir, url)), brine: python };
    brine = await BrineMaster.start(site, { onHome: placeModules });
  }, 900_000);
  afterAll(async () => {
    await brine.close();
    await stock.close();
    await place.close();
    secrets.close();
  });

  const byStock = (args: readonly string[]): Promise<SaltOutput> =>
    stock.run(venv, 'salt-run', stockHome, args);
  const byBrine = (args: readonly string[]): Promise<SaltOutput> => brine.brine('run', args);

  it.each(CALLS.map((args) => [args.join(' '), args] as const))('%s', async (_name, args) => {
    const json = args.some((arg) => arg.startsWith('--out')) ? args : [...args, '--out=json'];
    const [theirs, ours] = await Promise.all([byStock(json), byBrine(json)]);
    const shown = ({ stdout }: SaltOutput): unknown =>
      json === args ? stdout : (JSON.parse(stdout) as unknown);
    expect(shown(ours)).toEqual(shown(theirs));
    expect(ours.code).toBe(theirs.code);
    expect(ours.stdout.trim()).not.toBe('');
  });

  it('the pillar has what each kind of module adds', async () => {
    const { stdout } = await byBrine(['pillar.show_pillar', 'web1', '--out=json']);
    const pillar = JSON.parse(stdout) as Record<string, unknown>;
    expect(pillar).not.toHaveProperty('_errors');
    const keys = [
      'functions',
      'in_mako',
      'in_python',
      'layered',
      'lines',
      'secrets',
      'stacked',
      'stateful',
    ];
    expect(Object.keys(pillar)).toEqual(expect.arrayContaining(keys));
    expect(pillar['secrets']).toEqual({ password: 'of web1', ttl: 60 });
  });

  it('a function that raises ends with the code of Salt', async () => {
    const ours = await byBrine(['site.fails']);
    expect(ours.stdout).toContain('the site is closed');
    expect(ours.code).toBe((await byStock(['site.fails'])).code);
  });

  it('documentation of the site is among that of the master', async () => {
    const { stdout } = await byBrine(['doc.runner', '--out=json']);
    const docs = JSON.parse(stdout) as Record<string, string>;
    expect(docs['site.greet']).toContain('Greets.');
    expect(docs).toHaveProperty(['jobs.list_jobs']);
  });

  it('a module that hangs or crashes harms its own call only', async () => {
    const hanging = byBrine(['harmful.hang']);
    const crashing = byBrine(['harmful.fault']);
    const greeted = await byBrine(['site.greet', 'you', '--out=json']);
    expect(JSON.parse(greeted.stdout)).toEqual({ text: 'Hello, you!', more: {} });
    expect((await crashing).stdout).toContain('SIGSEGV');
    const { stdout, code } = await hanging;
    expect(stdout).toContain(`it ran longer than ${RUNNER_SECONDS} s`);
    expect(code).not.toBe(0);
    const after = await byBrine(['more.double', '21', '--out=json']);
    expect(JSON.parse(after.stdout)).toBe(42);
  });
});
