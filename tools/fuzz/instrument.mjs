// Loader hooks of `npm run fuzz -- --guided`: our own sources get istanbul's counters, so that a
// run knows which places an input reached. What comes from node_modules is left as it is.
import { createInstrumenter } from 'istanbul-lib-instrument';

const OWN = /\/(?:libs|apps)\/[^/]+\/src\//;

/** @type {import('node:module').LoadHook} */
export async function load(url, context, nextLoad) {
  const loaded = await nextLoad(url, context);
  if (loaded.format !== 'module' || !OWN.test(url)) return loaded;
  // An instrumenter holds the state of one file.
  const instrumenter = createInstrumenter({ esModules: true, compact: true });
  return { ...loaded, source: instrumenter.instrumentSync(String(loaded.source), url) };
}
