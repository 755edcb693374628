// Loaded by `--import` into the services of a master that `npm run bench -- --quick --plant`
// starts, and by nothing else: makes each request that a worker opens cost so much more CPU.
// Plain JavaScript, as it runs in processes that know no TypeScript.
import crypto from 'node:crypto';
import { writeFileSync } from 'node:fs';
import Module, { syncBuiltinESMExports } from 'node:module';
import { join } from 'node:path';

const micros = Number(process.env.BRINE_BENCH_PLANT_MICROS ?? 0);
const dir = process.env.BRINE_BENCH_PLANT_DIR ?? '';
/** How often it prints how many requests were burdened, in ms. */
const TELL_MS = 250;
const CALIBRATE_MICROS = 50_000;

if (micros > 0 && /\/apps\/worker-pool\//.test(process.argv[1] ?? '')) plant();

function plant() {
  const rounds = micros * roundsPerMicro();
  let burdened = 0;
  const burden = (open) =>
    function burdenedOpen(...args) {
      burn(rounds);
      burdened += 1;
      return open.apply(this, args);
    };
  // A request is opened by native code where that is built, else by Node's.
  const load = Module._extensions['.node'];
  Module._extensions['.node'] = function loadNative(module, file) {
    load.call(this, module, file);
    if (file.endsWith('crypticle.node')) {
      module.exports = { ...module.exports, open: burden(module.exports.open) };
    }
  };
  crypto.createDecipheriv = burden(crypto.createDecipheriv);
  syncBuiltinESMExports();
  const tell = () => writeFileSync(join(dir, String(process.pid)), String(burdened));
  tell();
  setInterval(tell, TELL_MS).unref();
}

/** By CPU time, not by the clock: on a busy machine a wait is no work. */
function roundsPerMicro() {
  burn(1_000_000);
  const before = process.cpuUsage();
  let rounds = 0;
  for (;;) {
    burn(100_000);
    rounds += 100_000;
    const { user, system } = process.cpuUsage(before);
    if (user + system >= CALIBRATE_MICROS) return rounds / (user + system);
  }
}

function burn(rounds) {
  let value = 1;
  for (let round = 0; round < rounds; round += 1) value = (value * 1_103_515_245 + 12_345) >>> 0;
  return value;
}
