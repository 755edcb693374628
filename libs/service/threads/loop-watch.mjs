// Looks whether the event loop of the main thread turns, and ends the process when it does not.
// Not compiled: it has to run as it is beside the sources too, where a thread reads no TypeScript.
import { writeSync } from 'node:fs';
import { Session } from 'node:inspector';
import { workerData } from 'node:worker_threads';

/** A loop that is blocked in a system call shows no stack; it is not waited for, ms. */
const STACK_MS = 1_000;
const STACK_FRAMES = 12;

const { service, beats, beatMs, stalledMs } = workerData;
let seen = 0;
let quiet = 0;

const looks = setInterval(() => {
  const now = Atomics.load(beats, 0);
  // Counts looks, not time: while the whole process was stopped this thread did not look.
  quiet = now === seen ? quiet + 1 : 0;
  seen = now;
  if (quiet * beatMs < stalledMs) return;
  clearInterval(looks);
  void stackOfMain().then(end);
}, beatMs);

function end(stack) {
  const fields = { level: 'fatal', time: new Date().toISOString(), service, stalledMs, stack };
  const msg = 'the event loop is blocked, ending this process';
  try {
    writeSync(2, `${JSON.stringify({ ...fields, msg })}\n`);
  } finally {
    process.kill(process.pid, 'SIGKILL');
  }
}

/** Where the main thread is, innermost first, as far as it can be asked. Opens no port. */
function stackOfMain() {
  return new Promise((resolve) => {
    setTimeout(resolve, STACK_MS, []);
    const session = new Session();
    const urls = new Map();
    session.connectToMainThread();
    session.on('Debugger.scriptParsed', ({ params }) => urls.set(params.scriptId, params.url));
    session.on('Debugger.paused', ({ params }) => {
      const frames = params.callFrames.slice(0, STACK_FRAMES);
      resolve(
        frames.map(({ functionName, location: { scriptId, lineNumber } }) => {
          return `${functionName || '<anonymous>'} ${urls.get(scriptId)}:${lineNumber + 1}`;
        }),
      );
    });
    session.post('Debugger.enable');
    session.post('Debugger.pause');
  });
}
