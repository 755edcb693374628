// Followers of streams of events, in a process of their own: plain sockets, of which some are read
// closely and the others only counted in bytes. Plain JavaScript, as it is forked.
//   node http-followers.mjs <port>; asked by message, it answers each with one.
import { connect } from 'node:net';

const port = Number(process.argv[2]);
/** A port of an address is used once; many addresses have many. */
const ADDRESSES = 8;
const OPEN_AT_ONCE = 100;
/** Followers that are read closely. */
const CLOSE_MAX = 20;
const MARK = Buffer.from('"sent": ');
const DIGITS = 13;
/** The event by which a slow follower learns what it missed. */
const DROPPED = Buffer.from('brine/netapi/dropped');

let followers = [];
let delays = [];
let stalled;

function follow(at, token, path = '/events') {
  const follower = { bytes: 0, frames: 0, rest: undefined, socket: undefined };
  return new Promise((resolve, reject) => {
    const localAddress = `127.0.0.${2 + (at % ADDRESSES)}`;
    const socket = connect({ host: '127.0.0.1', port, localAddress });
    follower.socket = socket;
    socket.write(`GET ${path} HTTP/1.1\r\nHost: bench\r\nX-Auth-Token: ${token}\r\n\r\n`);
    const onHead = (chunk) => {
      const head = chunk.toString('latin1');
      if (!head.startsWith('HTTP/1.1 200')) reject(new Error(head.slice(0, 60)));
      else if (head.includes('retry: ')) {
        socket.off('data', onHead);
        resolve(follower);
      }
    };
    socket.on('data', onHead).on('error', reject);
    socket.on('close', () => reject(new Error('closed')));
  });
}

/** Notes when events came. A mark may be cut in two by the chunks. */
function readClosely(follower, chunk) {
  const bytes = follower.rest === undefined ? chunk : Buffer.concat([follower.rest, chunk]);
  const now = Date.now();
  let end = 0;
  for (;;) {
    const at = bytes.indexOf(MARK, end);
    const from = at + MARK.length;
    if (at < 0 || from + DIGITS > bytes.length) break;
    end = from + DIGITS;
    follower.frames += 1;
    delays.push(now - Number(bytes.toString('latin1', from, end)));
  }
  follower.rest = bytes.subarray(Math.max(end, bytes.length - MARK.length - DIGITS));
}

async function open({ count, tokens, path }) {
  const made = new Array(count);
  const every = Math.ceil(count / CLOSE_MAX);
  let next = 0;
  const lane = async () => {
    while (next < count) {
      const at = next;
      next += 1;
      const follower = await follow(at, tokens[at % tokens.length], path);
      const isClose = at % every === 0;
      follower.socket.on('data', (chunk) => {
        follower.bytes += chunk.length;
        if (isClose) readClosely(follower, chunk);
      });
      follower.isClose = isClose;
      made[at] = follower;
    }
  };
  await Promise.all(Array.from({ length: OPEN_AT_ONCE }, lane));
  followers = made;
  return { open: count };
}

/** What came since the last time. */
function seen() {
  const bytes = followers.map((one) => one.bytes);
  const frames = followers.filter(({ isClose }) => isClose).map((one) => one.frames);
  const ended = followers.filter(({ socket }) => socket.destroyed).length;
  const sorted = delays.sort((a, b) => a - b);
  const part = (share) => sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))];
  const answer = {
    frames: [Math.min(...frames), Math.max(...frames)],
    bytes: [Math.min(...bytes), Math.max(...bytes)],
    ended,
    p50: part(0.5) ?? 0,
    p99: part(0.99) ?? 0,
    max: part(1) ?? 0,
  };
  delays = [];
  for (const one of followers) [one.bytes, one.frames] = [0, 0];
  return answer;
}

async function stall({ token }) {
  stalled = await follow(0, token);
  stalled.socket.pause();
  return {};
}

/** Reads what the stalled follower was sent, until it is closed. */
async function resume() {
  const { socket } = stalled;
  let bytes = 0;
  let isNamed = false;
  let rest = Buffer.alloc(0);
  socket.on('data', (chunk) => {
    bytes += chunk.length;
    rest = Buffer.concat([rest.subarray(-DROPPED.length), chunk]);
    isNamed ||= rest.includes(DROPPED);
  });
  await new Promise((resolve) => socket.on('close', resolve).resume());
  return { bytes, knowsWhatItMissed: isNamed };
}

function close() {
  for (const { socket } of followers) socket.destroy();
  followers = [];
  return {};
}

const ORDERS = { open, seen, stall, resume, close };
process.on('message', async ({ order, ...given }) => {
  try {
    process.send(await ORDERS[order](given));
  } catch (error) {
    process.send({ error: error.message });
  }
});
process.on('disconnect', () => process.exit(0));
