// Readers of a master's event socket, in a process of their own: they count how often a mark goes
// by, which needs no parsing and so costs next to nothing. Plain JavaScript, as it is forked.
//   node event-readers.mjs <socket> <readers> <mark>; asked by message, it answers with counts.
import { connect } from 'node:net';

const [socket = '', readers = '1', mark = ''] = process.argv.slice(2);
const wanted = Buffer.from(mark);
const counts = new Array(Number(readers)).fill(0);
let open = 0;

for (let index = 0; index < counts.length; index += 1) {
  let rest = Buffer.alloc(0);
  connect({ path: socket })
    .on('connect', () => {
      open += 1;
      if (open === counts.length) process.send({ ready: true });
    })
    .on('data', (chunk) => {
      const bytes = rest.length === 0 ? chunk : Buffer.concat([rest, chunk]);
      let at = bytes.indexOf(wanted);
      let end = 0;
      while (at >= 0) {
        counts[index] += 1;
        end = at + wanted.length;
        at = bytes.indexOf(wanted, end);
      }
      // A mark may be cut in two by the chunks; one that was counted must not be again.
      rest = bytes.subarray(Math.max(end, bytes.length - wanted.length + 1));
    })
    .on('error', (error) => process.send({ error: error.message }))
    .on('close', () => process.send({ error: 'the event socket closed a reader' }));
}

process.on('message', () => process.send({ counts }));
process.on('disconnect', () => process.exit(0));
