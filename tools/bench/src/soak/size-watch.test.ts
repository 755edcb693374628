import { expect, it } from 'vitest';
import { SizeWatch, usualSizes } from './size-watch.ts';

const size = (rss: number) => ({ rss, pss: rss, own: rss, descriptors: 7 });

it('usual is the median over the looks that found the service', () => {
  const looks = [{ nats: size(100) }, { nats: size(180), late: size(5) }, { nats: size(110) }];
  expect(usualSizes(looks)).toEqual({ nats: size(110), late: size(5) });
});

it('each look counts for one minute, and a failed one is reported', async () => {
  const rss = [10, 20, 30];
  const sizes = () => {
    const next = rss.shift();
    return next === undefined
      ? Promise.reject(new Error('no /proc'))
      : Promise.resolve({ nats: size(next) });
  };
  const watch = new SizeWatch({ sizes }, 60_000);
  await new Promise(setImmediate);
  expect(await watch.take()).toEqual({ nats: size(10) });
  expect(await watch.take()).toEqual({ nats: size(20) });
  await watch.close();

  const failing = new SizeWatch({ sizes: () => Promise.reject(new Error('no /proc')) }, 60_000);
  await new Promise(setImmediate);
  await expect(failing.take()).rejects.toThrow('no /proc');
  await expect(failing.close()).rejects.toThrow('no /proc');
});
