import { describe, expect, test } from 'vitest';
import { ReturnerOptions } from './returner-options.ts';
import { returnerUrl } from './returner-url.ts';

describe('options of a returner', () => {
  const written = {
    'rawfile_json.filename': '/flat',
    syslog: { level: 'LOG_ERR', tag: null, options: 'LOG_PID' },
    'syslog.tag': 'flat',
    'syslog.level': 'LOG_DEBUG',
    number: { port: 5433 },
    wrong: { text: ['a'], port: 'x', flag: 'maybe', texts: [1] },
  };
  const of = (name: string): ReturnerOptions => new ReturnerOptions({ written }, name);

  test('stand in a map, or with the name of the returner before a dot; the map goes first', () => {
    expect(of('rawfile_json').text('filename')).toBe('/flat');
    expect(of('syslog').text('level')).toBe('LOG_ERR');
    expect(of('syslog').text('tag')).toBe('flat');
    expect(of('syslog').texts('options')).toEqual(['LOG_PID']);
    expect(of('number').integer('port', 1)).toBe(5433);
    expect(of('number').integer('other', 1)).toBe(1);
    expect(of('none').flag('x', true)).toBe(true);
  });

  test('that do not fit are told by their names', () => {
    const wrong = of('wrong');
    expect(() => wrong.text('text')).toThrow("'wrong.text' must be a text");
    expect(() => wrong.integer('port', 1)).toThrow("'wrong.port' must be a whole number");
    expect(() => wrong.flag('flag', true)).toThrow("'wrong.flag' must be true or false");
    expect(() => wrong.texts('texts')).toThrow("'wrong.texts' must be a list of texts");
  });
});

describe('the database of pgjsonb', () => {
  test("is Brine's own where no option names another", () => {
    expect(returnerUrl('pgjsonb', { written: {} })).toBe(undefined);
    expect(returnerUrl('pgjsonb', { written: { 'returner.postgres.host': 'db' } })).toBe(undefined);
  });

  test('is the one that the options name, with the defaults of Salt', () => {
    expect(returnerUrl('pgjsonb', { written: { 'returner.pgjsonb.host': 'db' } })).toBe(
      'postgres://salt:salt@db:5432/salt',
    );
    const all = { host: 'db', port: 5433, user: 'a b', passwd: 'p@:/', db: 'x y' };
    expect(returnerUrl('postgres', { written: { 'returner.postgres': all } })).toBe(
      'postgres://a%20b:p%40%3A%2F@db:5433/x%20y',
    );
  });

  test('is reached by TLS as libpq does it, where sslmode asks for that', () => {
    const options = { host: 'db', sslmode: 'verify-full', sslrootcert: '/ca.pem', sslcert: 'None' };
    const url = new URL(returnerUrl('pgjsonb', { written: { 'returner.pgjsonb': options } })!);
    expect(Object.fromEntries(url.searchParams)).toEqual({
      uselibpqcompat: 'true',
      sslmode: 'verify-full',
      sslrootcert: '/ca.pem',
    });
  });
});
