import { describe, expect, it } from 'vitest';
import { NodegroupError } from './errors.ts';
import { expandCompound, expandNodegroup } from './nodegroup.ts';

const GROUPS = new Map<string, string | readonly string[]>([
  ['web', 'L@web1.example,web2.example'],
  ['dbs', 'G@role:db'],
  ['live', 'N@web or N@dbs'],
  ['listform', ['web1.example', 'or', 'G@role:db']],
  ['names', ['a', 'b']],
  ['self', 'N@self or x'],
  ['nested', 'N@listform and N@names'],
]);

describe('node groups', () => {
  it.each([
    ['web', 'L@web1.example,web2.example'],
    ['live', '( ( L@web1.example,web2.example ) or ( G@role:db ) )'],
    ['listform', 'web1.example or G@role:db'],
    ['names', 'L@a,b'],
    ['self', '( or x )'],
    ['nested', '( ( web1.example or G@role:db ) and L@a,b )'],
  ])('%s', (name, expression) => {
    expect(expandNodegroup(name, GROUPS, 'master').join(' ')).toBe(expression);
  });

  it('are expanded inside compound targets', () => {
    expect(expandCompound('N@dbs and not web*', GROUPS, 'master')).toBe('G@role:db and not web*');
  });

  it('must be configured', () => {
    expect(() => expandCompound('N@nosuch', GROUPS, '/etc/salt/master')).toThrow(
      new NodegroupError('nosuch', '/etc/salt/master'),
    );
  });
});
