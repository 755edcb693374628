import { cp, readFile, writeFile } from 'node:fs/promises';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { type SaltConfig, type SaltHome, type SaltVenv } from '@brine/testing';
import { packageBeside } from '@brine/testing/packages';

const FIXTURE = fileURLToPath(new URL('../../fixtures/python-site', import.meta.url));

/** The token that the store of secrets wants. */
const TOKEN = 'hvs.token';

/** Copies the modules of the site to where a master has them by default. */
export async function placeModules({ cacheDir }: Pick<SaltHome, 'cacheDir'>): Promise<void> {
  await cp(join(FIXTURE, 'extmods'), join(cacheDir, 'extmods'), { recursive: true });
}

/** Copies the rest of the site to a directory; gives the options of a master that uses it. */
export async function placeSite(dir: string, secretsUrl = ''): Promise<SaltConfig> {
  const site = join(dir, 'site');
  await cp(FIXTURE, site, { recursive: true });
  return {
    site_name: 'north',
    site_events: join(dir, 'events.jsonl'),
    runner_dirs: [join(site, 'more_runners')],
    pillar_roots: { base: [join(site, 'roots')] },
    ext_pillar: [
      { layers: [{ layer: { a: 1, b: [1] } }, { layer: { a: 2, c: { d: null } } }] },
      { stack: [join(site, 'stack', 'stack.cfg')] },
      ...(secretsUrl === '' ? [] : [{ secrets: { url: secretsUrl, token: TOKEN } }]),
      { layers: { named: 'by keyword' } },
    ],
    master_tops: { by_role: true },
  };
}

/** A stand-in for a store of secrets, on loopback. */
export async function startSecrets(): Promise<{ readonly url: string; readonly server: Server }> {
  const server = createServer((request, response) => {
    const id = /^\/v1\/secret\/minions\/([\w.]+)$/.exec(request.url ?? '')?.[1];
    const isKnown = request.headers['x-vault-token'] === TOKEN && id !== undefined;
    response.writeHead(isKnown ? 200 : 403, { 'content-type': 'application/json' });
    response.end(JSON.stringify({ data: isKnown ? { password: `of ${id}`, ttl: 60 } : null }));
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  return { url: `http://127.0.0.1:${port}`, server };
}

/** The events that the returner of the site has written, or none. */
export async function writtenEvents(config: SaltConfig): Promise<unknown[]> {
  const text = await readFile(String(config['site_events']), 'utf8').catch(() => '');
  const lines = text.split('\n').filter((line) => line !== '');
  return lines.map((line) => JSON.parse(line) as unknown);
}

/** The packages of the site, which the environments of Salt do not have. */
const PACKAGE = 'mako==1.4.3';

/**
 * The environment with a package, by default the site's: a script in the place of the interpreter,
 * as a site writes one.
 */
export async function withPackages(
  venv: SaltVenv,
  dir: string,
  wanted = PACKAGE,
): Promise<SaltVenv> {
  const packages = await packageBeside(venv, wanted);
  const python = join(dir, 'site-python');
  const script = `#!/bin/sh\nPYTHONPATH=${packages} exec ${venv.python} "$@"\n`;
  await writeFile(python, script, { mode: 0o755 });
  return { ...venv, python };
}
