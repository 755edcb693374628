import { expect, test } from 'vitest';
import { redactedText, redactedValue } from './redacted.ts';
import { type Scene, Scenes, type SceneSettings } from './scenes.ts';

interface Watched {
  readonly scenes: Scenes;
  readonly printed: string[];
  readonly removed: string[];
  failed: boolean;
  readonly open: (dir: string, report?: () => Promise<string>) => Scene;
}

function watched(more: Partial<SceneSettings> = {}): Watched {
  const scenes = new Scenes();
  const printed: string[] = [];
  const removed: string[] = [];
  const open = (dir: string, report = async () => `of ${dir}`): Scene => {
    const scene = { dir, report, removeDir: async () => void removed.push(dir) };
    scenes.add(scene);
    return scene;
  };
  const all: Watched = { scenes, printed, removed, failed: false, open };
  const hasFailed = (): boolean => all.failed;
  scenes.watch({ hasFailed, print: (text) => printed.push(text), keep: false, ...more });
  return all;
}

test('a directory goes at the end of its test, not before; a passed one prints nothing', async () => {
  const { scenes, printed, removed, open } = watched();
  const scene = open('/one');
  await scenes.closing(scene);
  await scenes.closed(scene);
  await scenes.closed(scene);
  expect(removed).toEqual([]);
  await scenes.testEnded(false);
  expect({ removed, printed }).toEqual({ removed: ['/one'], printed: [] });
});

test('without a runner of tests a directory goes when it is closed', async () => {
  const scenes = new Scenes();
  const removed: string[] = [];
  const removeDir = async (): Promise<void> => void removed.push('/one');
  const scene = { dir: '/one', report: async () => '', removeDir };
  scenes.add(scene);
  await scenes.closing(scene);
  await scenes.closed(scene);
  expect(removed).toEqual(['/one']);
});

test('each scene is printed once, and what is kept stays', async () => {
  const all = watched({ keep: true });
  const [one, other] = [all.open('/one'), all.open('/other')];
  await all.scenes.closed(one);
  await all.scenes.testEnded(true);
  await all.scenes.testEnded(true);
  all.failed = true;
  await all.scenes.closing(other);
  await all.scenes.closed(other);
  await all.scenes.fileEnded();
  expect(all.printed.map((text) => text.split('\n').slice(1, 3))).toEqual([
    ['--- /one (kept)', 'of /one'],
    ['--- /other (kept)', 'of /other'],
  ]);
  expect(all.removed).toEqual([]);
});

test('a report that hangs or throws is given up, and the directory goes', async () => {
  const all = watched({ reportMs: 20 });
  all.failed = true;
  const hangs = all.open('/hangs', () => new Promise<string>(() => undefined));
  const throws = all.open('/throws', () => Promise.reject(new Error('broken')));
  for (const scene of [hangs, throws]) {
    await all.scenes.closing(scene);
    await all.scenes.closed(scene);
  }
  await all.scenes.fileEnded();
  expect(all.printed[0]).toContain('no report within 20 ms');
  expect(all.printed[1]).toContain('no report: Error: broken');
  expect(all.removed).toEqual(['/hangs', '/throws']);
});

test('values with the names of secrets are left out, others stay', () => {
  const config = {
    token_expire: 43_200,
    token_dir: '/tokens',
    key_pass: 'hunter2',
    ext_pillar: [{ git: [{ 'main https://me:hunter2@host/x': [{ password: 'hunter2' }] }] }],
    brine: { postgres: { url: 'postgres://me:hunter2@host/db' }, passive: 'yes' },
    on: { auth_pass: null, sign_pub_messages_token: true },
  };
  const shown = JSON.stringify(redactedValue(config));
  expect(shown).not.toContain('hunter2');
  for (const kept of ['43200', '/tokens', 'postgres://…@host/db', '"yes"', 'null', 'true']) {
    expect(shown).toContain(kept);
  }
});

test('texts lose words that have the form of a secret', () => {
  const key = '-----BEGIN RSA PRIVATE KEY-----\\nhunter2\\n-----END RSA PRIVATE KEY-----';
  for (const text of [key, 'password=hunter2 x', '"token": "hunter2"', 'nats://a:hunter2@b']) {
    expect(redactedText(text)).not.toContain('hunter2');
  }
  expect(redactedText('the password was wrong')).toBe('the password was wrong');
});
