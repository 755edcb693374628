import type { Readable } from 'node:stream';

/**
 * A line without an end is passed on in pieces of this size, so that it can not fill the memory.
 */
const LINE_BYTES_MAX = 65_536;

/** Calls back for each line of a stream, and for the rest at its end. */
export function eachLine(stream: Readable, onLine: (line: string) => void): void {
  let rest = '';
  stream.setEncoding('utf8');
  stream.on('data', (chunk: string) => {
    const lines = (rest + chunk).split('\n');
    rest = lines.pop() ?? '';
    for (const line of lines) onLine(line);
    if (rest.length <= LINE_BYTES_MAX) return;
    onLine(rest);
    rest = '';
  });
  stream.on('end', () => {
    if (rest !== '') onLine(rest);
    rest = '';
  });
  // A broken pipe of a dying child needs no report: its exit is reported.
  stream.on('error', () => undefined);
}
