// The log-in page, as it is sent, and what is beside it.
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
        "style-src 'self'",
        "connect-src 'self'",
        "form-action 'none'",
        "frame-ancestors 'none'",
        "base-uri 'none'",
      ]),
    );
    expect(policy.join(' ')).not.toMatch(/unsafe|\*|https?:/);
    expect(page.headers.get('referrer-policy')).toBe('no-referrer');
    expect(page.headers.get('x-content-type-options')).toBe('nosniff');
    expect(page.headers.get('set-cookie')).toBeNull();
  });

  test('has its files, and each names its type', async () => {
    const { ask } = await served();
    const { text } = await ask('/console/');
    const names = [...text.matchAll(/(?:src|href)="(console\.\w+)"/g)].map(([, name]) => name);
    expect(names).toEqual(['console.css', 'console.js']);
    for (const name of names) {
      const file = await ask(`/console/${name}`);
      expect(file.status).toBe(200);
      expect(file.headers.get('content-type')).toMatch(/^text\/(css|javascript); charset=utf-8$/);
    }
  });

  test.each([
    '/console/nothing',
    '/console/index.html',
    '/console/..',
    '/console/../../package.json',
    '/console/%2e%2e/%2e%2e/package.json',
    '/console/%252e%252e/package.json',
    '/console/..%2f..%2fpackage.json',
    '/console/..%5c..%5cpackage.json',
    '/console/%00',
    '/console/console.js%00.html',
    '/console/console.js/',
    '/console/constructor',
    '/console//etc/passwd',
    `/console/${'a'.repeat(10_000)}`,
  ])('has nothing at %.40s', async (path) => {
    const { base } = await served();
    const { status } = await exactly(base, path);
    // `console.js/` is the file: a slash at the end counts for nothing.
    expect([400, 404, path === '/console/console.js/' ? 200 : 404]).toContain(status);
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
