import type { SaltMap } from '@brine/wire';
import { mapOf } from '@brine/wire';
import type { PublishedJob } from '@brine/wire/load';
import { describe, expect, test } from 'vitest';
import { askerOf, jobBelow, tokenOf } from './job-below.ts';

const ABOVE = tokenOf('above.example:4506');
const SETTINGS = {
  masterId: 'below',
  timeout: 5,
  orderMasters: true,
  extJobCache: '',
  user: 'salt',
};

function published(rest: SaltMap, changes: Partial<PublishedJob> = {}): PublishedJob {
  return {
    fun: 'test.ping',
    arg: [],
    tgt: '*',
    tgtType: 'glob',
    jid: '20261122101112131415',
    ret: '',
    user: 'ann',
    serial: 7,
    rest,
    ...changes,
  };
}

function below(rest: SaltMap, changes: Partial<PublishedJob> = {}, settings = {}) {
  const job = jobBelow(published(rest, changes), ABOVE, { ...SETTINGS, ...settings });
  if (job === undefined) throw new Error('passed over');
  return job;
}

describe('a job from above', () => {
  test('is asked for as a stock syndic asks: jid, target, rights, a second less', () => {
    const rest = mapOf({ to: 15, auth_list: ['test.*'], master_id: 'above' });
    const { request } = below(rest, { ret: 'smtp' });
    expect(request).toEqual({
      tgt: '*',
      tgtType: 'glob',
      fun: 'test.ping',
      arg: [],
      ret: 'smtp',
      jid: '20261122101112131415',
      user: 'salt',
      to: 14,
      kwargs: mapOf({ auth_list: ['test.*'], master_id: 'above', user: 'ann' }),
    });
  });

  test('without a time or rights gets the time-out of this master and an empty list', () => {
    const { request } = below(mapOf({ to: null }));
    expect(request.to).toBe(4);
    expect(request.kwargs).toEqual(mapOf({ auth_list: [], user: 'ann' }));
    expect(below(mapOf({}), {}, { orderMasters: false }).request).not.toHaveProperty('to');
  });

  test('keeps what its target and its returns need, which stock syndics forget', () => {
    const rest = mapOf({ metadata: mapOf({ ticket: 7 }), ret_config: 'other' });
    const { kwargs } = below(rest, { delimiter: '|' }).request;
    expect(kwargs?.get('delimiter')).toBe('|');
    expect(kwargs?.get('metadata')).toEqual(mapOf({ ticket: 7 }));
    expect(kwargs?.get('ret_config')).toBe('other');
  });

  test('goes to the external job cache of this master too', () => {
    const settings = { extJobCache: 'pgjsonb' };
    expect(below(mapOf({}), { ret: 'smtp' }, settings).request.ret).toBe('smtp,pgjsonb');
    expect(below(mapOf({}), {}, settings).request.ret).toBe('pgjsonb');
  });

  test('that this master published itself does not come round', () => {
    const own = published(mapOf({ master_id: 'below' }));
    expect(jobBelow(own, ABOVE, SETTINGS)).toBeUndefined();
    expect(jobBelow(own, ABOVE, { ...SETTINGS, masterId: undefined })).toBeDefined();
  });
});

describe('the id of its request', () => {
  const { id } = below(mapOf({ to: 15, traceparent: 'x' }));

  test('is the same however often and through whichever relay the job comes', () => {
    expect(below(mapOf({ to: 14 }), { serial: 8 }).id).toBe(id);
    expect(below(mapOf({}), { serial: undefined as never }).id).toBe(id);
  });

  test('differs with the pieces of a batch, the rights and the master above', () => {
    expect(below(mapOf({}), { tgt: 'web*' }).id).not.toBe(id);
    expect(below(mapOf({ auth_list: ['.*'] })).id).not.toBe(id);
    expect(jobBelow(published(mapOf({})), tokenOf('other:4506'), SETTINGS)?.id).not.toBe(id);
  });

  test('names the master above that asked, and none for jobs of our own', () => {
    expect(askerOf(id)).toBe(ABOVE);
    expect(askerOf('g0123:4711')).toBeUndefined();
    expect(askerOf(`${id}0`)).toBeUndefined();
  });
});
