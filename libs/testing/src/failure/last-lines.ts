import { open } from 'node:fs/promises';
import { redactedText } from './redacted.ts';

/** The part of a log's end that is read: a log may have any size. */
const READ_BYTES = 64 * 1024;
const LINE_CHARS = 240;

/** The last lines of a file, long ones cut. @throws as the file system does. */
export async function lastLines(path: string, count: number): Promise<string[]> {
  const file = await open(path, 'r');
  try {
    const { size } = await file.stat();
    const from = Math.max(0, size - READ_BYTES);
    const { buffer, bytesRead } = await file.read(Buffer.alloc(size - from), 0, size - from, from);
    const text = redactedText(buffer.toString('utf8', 0, bytesRead));
    const lines = text.replace(/\n$/, '').split('\n').slice(-count);
    return lines.map((line) => (line.length > LINE_CHARS ? `${line.slice(0, LINE_CHARS)}…` : line));
  } finally {
    await file.close();
  }
}
