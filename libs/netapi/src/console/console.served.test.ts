// The page of the console, as it is sent, and the files beside it.
import { request } from 'node:http';
import { afterEach, describe, expect, test } from 'vitest';
import { closeScenes, raw, served } from '../../test/served-scene.ts';

const BROWSER = 'text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8';

afterEach(closeScenes);

/** What an address answers, without what a client would follow or put right. */
function exactly(base: string, path: string, headers: Readonly<Record<string, string>> = {}) {
  return new Promise<{ readonly status: number; readonly location: string | undefined }>(
    (resolve, reject) => {
      const asked = request(`${base}/`, { path, headers }, (answer) => {
        answer.resume();
        resolve({ status: answer.statusCode ?? 0, location: answer.headers.location });
      });
      asked.on('error', reject).end();
    },
  );
}

describe('the page', () => {
  test('has no script, style or form target of its own in its text', async () => {
    const { ask } = await served();
    const page = await ask('/console/');
    expect(page.status).toBe(200);
    expect(page.text).not.toMatch(/<script(?![^>]*\bsrc=)|<style|\son\w+=|\sstyle=|javascript:/i);
    expect(page.text).not.toMatch(/(?:src|href|action)="(?:https?:)?\/\//i);
    const policy = page.headers.get('content-security-policy')?.split('; ') ?? [];
    expect(policy).toEqual(
      expect.arrayContaining([
        "default-src 'none'",
        "script-src 'self'",
        "connect-src 'self'",
        "form-action 'none'",
        "frame-ancestors 'none'",
        "base-uri 'none'",
      ]),
    );
    expect(policy.join(' ')).not.toMatch(/unsafe|\*|https?:/);
    const nonce = /style-src 'self' 'nonce-([\w-]{22})'/.exec(policy.join(';'))?.[1];
    expect(page.text).toContain(`nonce="${nonce}"`);
    const again = await ask('/console/');
    expect(again.headers.get('content-security-policy')).not.toContain(nonce);
    expect(page.headers.get('referrer-policy')).toBe('no-referrer');
    expect(page.headers.get('x-content-type-options')).toBe('nosniff');
    expect(page.headers.get('set-cookie')).toBeNull();
  });

  test('has its files below it, compressed and for good', async () => {
    const { ask } = await served();
    const { text } = await ask('/console/jobs/1?a=b');
    const names = [...text.matchAll(/(?:src|href)="([^"]+\.(?:js|css))"/g)].map(([, name]) => name);
    const encodings = new Set<string | null>();
    for (const name of names) {
      expect(name).toMatch(/^\/console\/assets\/[\w.-]+$/);
      const file = await ask(name ?? '', { headers: { 'Accept-Encoding': 'br' } });
      expect(file.status).toBe(200);
      expect(file.headers.get('content-type')).toMatch(
        /^(text\/css|application\/javascript); charset=utf-8$/,
      );
      encodings.add(file.headers.get('content-encoding'));
      expect(file.headers.get('cache-control')).toBe('public, max-age=31536000, immutable');
    }
    // A file of a few lines has no compressed copy.
    expect(encodings).toContain('br');
  });

  test.each([
    '/console/jobs',
    '/console/minions/web%2F1',
    '/console/..%2f..%2fpackage.json',
    '/console/constructor',
    '/console/assets/',
    '/console//etc/passwd',
  ])('is what %s has', async (path) => {
    const { ask } = await served();
    const { status, text } = await ask(path);
    expect(status).toBe(200);
    expect(text).toContain('<div id="root">');
  });

  test.each([
    '/console/assets/nothing.js',
    '/console/assets/.vite',
    '/console/assets/../index.html',
    '/console/assets/../../types/tsconfig.tsbuildinfo',
    '/console/assets/%2e%2e/%2e%2e/package.json',
    '/console/assets/%252e%252e/package.json',
    '/console/assets/..%2f..%2fpackage.json',
    '/console/assets/..%5c..%5cpackage.json',
    '/console/assets/%00',
    '/console/assets//etc/passwd',
    `/console/assets/${'a'.repeat(10_000)}`,
  ])('has nothing at %.40s', async (path) => {
    const { base } = await served();
    const { status } = await exactly(base, path);
    expect([400, 403, 404]).toContain(status);
  });

  test('is not what another method gets', async () => {
    const { post } = await served();
    expect((await post('/console/', {})).status).toBe(404);
  });
});

describe('a browser', () => {
  test('comes to the page from the root, and a program does not', async () => {
    const { base } = await served();
    const at = (accept?: string, path = '/') =>
      exactly(base, path, accept === undefined ? {} : { accept });
    expect(await at(BROWSER)).toEqual({ status: 302, location: '/console/' });
    expect(await at(BROWSER, '/?a=//evil.example')).toMatchObject({ location: '/console/' });
    expect(await at(undefined, '/console')).toEqual({ status: 302, location: '/console/' });
    expect(await at(undefined, '/console?next=//evil.example')).toMatchObject({
      location: '/console/',
    });
    // As a stock salt-api answers.
    expect(await at('text/html')).toEqual({ status: 406, location: undefined });
    expect(await at()).toEqual({ status: 200, location: undefined });
    expect(await at('application/json')).toEqual({ status: 200, location: undefined });
  });

  test('gets the page of an application instead, where there is one', async () => {
    const { base } = await served({ rest: { app: import.meta.filename } });
    expect(await exactly(base, '/', { accept: BROWSER })).toMatchObject({ status: 200 });
    expect(await exactly(base, '/console/')).toMatchObject({ status: 200 });
  });

  test('comes to no other host by the form of an address', async () => {
    const { base, port } = await served();
    for (const path of ['//evil.example/console', '//evil.example', '/\\evil.example/console']) {
      const { location = '/' } = await exactly(base, path, { accept: BROWSER });
      expect(location).toMatch(/^\/(console\/)?$/);
    }
    const whole = `GET http://evil.example/console HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n`;
    const answer = await raw(port, whole);
    expect(answer).not.toMatch(/^location: .*evil/im);
  });
});
