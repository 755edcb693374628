// Looks whether the event loop of the main thread turns, and ends the process when it does not.
// Tells where the main thread is, when the supervisor asks. Not compiled: it has to run as it is
// beside the sources too, where a thread reads no TypeScript.
import { readFileSync, writeSync } from 'node:fs';
import { Session } from 'node:inspector';
import { Socket } from 'node:net';
import { workerData } from 'node:worker_threads';

/**
 * A loop that is blocked in a system call shows no stack; it is not waited for, ms. A busy machine
 * may take more than a second to show one.
 */
const STACK_MS = 2_000;
const STACK_FRAMES = 12;

const { service, beats, beatMs, stalledMs, stacksFd } = workerData;
/** The main thread has the number of the process. */
const WAITS = `/proc/self/task/${process.pid}/schedstat`;
let seen = 0;
let quietMs = 0;
let waitedMs = waitedForCpuMs();

const looks = setInterval(() => {
  const now = Atomics.load(beats, 0);
  const waited = waitedForCpuMs();
  // Counts looks, not time: while the whole process was stopped this thread did not look.
  quietMs = now === seen ? quietMs + Math.max(0, beatMs - (waited - waitedMs)) : 0;
  seen = now;
  waitedMs = waited;
  if (quietMs < stalledMs) return;
  clearInterval(looks);
  void stackOfMain().then(end);
}, beatMs);

if (stacksFd !== undefined) answerOn(new Socket({ fd: stacksFd }));

/**
 * How long the main thread was ready to run and had no CPU, in ms (Linux: the second number of
 * schedstat, in ns). A machine that is too busy gets busier by processes that end and start again.
 */
function waitedForCpuMs() {
  try {
    return Number(readFileSync(WAITS, 'latin1').split(' ')[1]) / 1e6;
  } catch {
    // No such file in this kernel: then waiting counts as standing still.
    return 0;
  }
}

function end(stack) {
  const fields = { level: 'fatal', time: new Date().toISOString(), service, stalledMs, stack };
  const msg = 'the event loop is blocked, ending this process';
  try {
    writeSync(2, `${JSON.stringify({ ...fields, msg })}\n`);
  } finally {
    process.kill(process.pid, 'SIGKILL');
  }
}

/** Answers each question of the supervisor with a line, one after the other. */
function answerOn(line) {
  let turn = Promise.resolve();
  line.unref();
  // The supervisor is gone; the main thread sees that too.
  line.on('error', () => line.destroy());
  line.on('data', () => {
    turn = turn.then(async () => {
      const stack = await stackOfMain();
      // An idle loop is met in Node's own timers, or in the beat of this very watch.
      const isIdle = stack.every((frame) => / node:internal\/|\/loop-watch\./.test(frame));
      line.write(`${JSON.stringify(isIdle ? [] : stack)}\n`);
    });
  });
}

/** Where the main thread is, innermost first, as far as it can be asked. Opens no port. */
async function stackOfMain() {
  const session = new Session();
  session.connectToMainThread();
  try {
    return await new Promise((resolve) => {
      setTimeout(resolve, STACK_MS, []);
      const urls = new Map();
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
  } finally {
    // It goes on from where it was.
    session.disconnect();
  }
}
