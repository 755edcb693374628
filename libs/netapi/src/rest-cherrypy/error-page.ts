import { STATUS_CODES } from 'node:http';

/** CherryPy's texts for errors without one of their own (cherrypy/_cperror.py, cheroot). */
const TEXTS: ReadonlyMap<number, string> = new Map([
  [400, 'Illegal parameters'],
  [401, 'No permission -- see authorization schemes'],
  [403, 'Request forbidden -- authorization will not help'],
  [404, 'Nothing matches the given URI'],
  [405, 'Specified method is invalid for this resource'],
  [413, 'Entity is too large.'],
  [429, 'Too many requests: try again later.'],
  [
    500,
    'The server encountered an unexpected condition which prevented it from fulfilling the ' +
      'request.',
  ],
  [503, 'The server cannot process the request due to a high load'],
  [504, 'The gateway server did not receive a timely response'],
]);

const ESCAPES: Readonly<Record<string, string>> = {
  '&': '&amp;',
  '<': '&lt;',
  '>': '&gt;',
};

/**
 * The page of an error, in the form that clients of a stock salt-api read: the status in `h2`, the
 * text in `p` (cherrypy/_cperror.py _HTTPErrorTemplate).
 */
export function errorPage(status: number, text: string): string {
  const name = `${status} ${STATUS_CODES[status] ?? 'Error'}`;
  const shown = (text === '' ? (TEXTS.get(status) ?? '') : text).replace(
    /[&<>]/g,
    (sign) => ESCAPES[sign] ?? sign,
  );
  return [
    '<!DOCTYPE html>',
    '<html>',
    '<head>',
    '    <meta charset="utf-8">',
    `    <title>${name}</title>`,
    '</head>',
    '    <body>',
    `        <h2>${name}</h2>`,
    `        <p>${shown}</p>`,
    '        <pre id="traceback"></pre>',
    '    </body>',
    '</html>',
    '',
  ].join('\n');
}
