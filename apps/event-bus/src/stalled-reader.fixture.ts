// The readers of stalled-reader.deep.test.ts, in a process of their own. To take 250,000 events a
// second apart would need more than one core, so each reader counts the marks in what comes, one of
// each event, and looks at the time in the first event of each chunk: the oldest that came with it.
import { connect } from 'node:net';

const [, , path = '', count = '0'] = process.argv;
/** Before the ms since 1970 in an event, and nowhere else in it. */
const MARK = '@'.charCodeAt(0);
const DIGITS = 13;

/** Bytes by how late they came, one bucket for each ms. */
let late = new Float64Array(60_000);
let events = new Float64Array(Number(count));
/** How many events there are, once they are all fired. */
let fired = Infinity;
let ready = 0;

events.forEach((_, reader) => {
  const socket = connect(path, () => {
    ready += 1;
    if (ready === events.length) process.send?.({ ready });
  });
  socket.on('data', (chunk: Buffer) => take(reader, chunk));
  socket.on('close', () => process.send?.({ lost: reader }));
});
process.on('message', (message: unknown) => {
  fired = Number(message);
  tellIfAll();
});

function take(reader: number, chunk: Buffer): void {
  const at = chunk.indexOf(MARK) + 1;
  let marks = 0;
  for (let mark = at; mark > 0; mark = chunk.indexOf(MARK, mark) + 1) marks += 1;
  events[reader] = (events[reader] ?? 0) + marks;
  const time = at === 0 ? NaN : Number(chunk.toString('latin1', at, at + DIGITS));
  if (time > 1e12) {
    const bucket = Math.min(Math.max(0, Date.now() - time), late.length - 1);
    late[bucket] = (late[bucket] ?? 0) + chunk.length;
  }
  tellIfAll();
}

/** When every reader has every event, reports it and counts from 0: no event is in flight then. */
function tellIfAll(): void {
  if (events.some((one) => one !== fired)) return;
  let left = late.reduce((sum, one) => sum + one, 0) * 0.01;
  let p99 = late.length - 1;
  while (p99 > 0 && (left -= late[p99] ?? 0) > 0) p99 -= 1;
  fired = Infinity;
  late = new Float64Array(late.length);
  events = new Float64Array(events.length);
  process.send?.({ p99 });
}
