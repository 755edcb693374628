// Joins the built files of each program into a few: `apps/<app>/dist/joined/`. A service asks Node
// for some 1,000 files to start, a command for 500. To find and compile them one by one takes most
// of the CPU of a start (docs/internals/measurements.md).
// Plain JavaScript, as `tools/ready.mjs` runs it. It looks first: nothing is made twice.
import { readFileSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join, relative } from 'node:path';
import { fileURLToPath } from 'node:url';

const ROOT = dirname(dirname(fileURLToPath(import.meta.url)));
/** What starts each program. */
const ENTRIES = {
  cli: 'command-line.js',
  'event-bus': 'main.js',
  'job-cache-returner': 'main.js',
  minion: 'main.js',
  publisher: 'main.js',
  'req-gateway': 'main.js',
  'runner-pool': 'main.js',
  'http-api': 'main.js',
  'syndic-relay': 'main.js',
  'worker-pool': 'main.js',
};
/**
 * Packages that stay as they are: native ones; NATS, of whose client we use parts by their path
 * (libs/bus/src/connection/client-internals.ts), and a second copy would have other classes; the
 * OpenTelemetry SDK, which finds its parts by itself and is loaded only where spans are exported.
 */
const EXTERNAL = ['zeromq', '*.node', '@nats-io/*', '@opentelemetry/*'];
/** Read by libs/service/src/processes/program-of.ts: a bundle older than these is not used. */
const MADE = 'made-of.json';
/** Packages of others change with their list alone. */
const ALSO = ['package-lock.json', 'tools/bundle.mjs'];
/** What packages in CommonJS use and ES modules do not have. */
const BANNER = `import { createRequire as joined$require } from 'node:module';
import { fileURLToPath as joined$path } from 'node:url';
const require = joined$require(import.meta.url);
const joined$place = (path) => joined$path(new URL(path, import.meta.url));`;

/** Bundles the programs that have changed. `say` gets a line for people. */
export async function bundlePrograms(say = () => undefined) {
  // Built just now: what decides at a start decides here too.
  const { programOf } = await import('../libs/service/dist/processes/program-of.js');
  const stale = Object.keys(ENTRIES).filter(
    (app) => !programOf(join(ROOT, 'apps'), app, ENTRIES[app]).startsWith(joinedDir(app)),
  );
  if (stale.length === 0) return;
  const { build } = await import('esbuild');
  for (const app of stale) await bundle(build, app);
  say(`bundled ${stale.length} programs`);
}

function joinedDir(app) {
  return join(ROOT, 'apps', app, 'dist', 'joined');
}

async function bundle(build, app) {
  const outdir = joinedDir(app);
  rmSync(outdir, { recursive: true, force: true });
  const { metafile } = await build({
    entryPoints: [join(ROOT, 'apps', app, 'dist', ENTRIES[app])],
    outdir,
    absWorkingDir: ROOT,
    bundle: true,
    splitting: true,
    platform: 'node',
    format: 'esm',
    target: 'node20',
    external: EXTERNAL,
    banner: { js: BANNER },
    plugins: [ownPlaces(outdir)],
    metafile: true,
    logLevel: 'warning',
  });
  // Written last: without it the bundle is not used.
  const own = Object.keys(metafile.inputs).filter((path) => /^(apps|libs)\//.test(path));
  writeFileSync(join(outdir, MADE), JSON.stringify([...own, ...ALSO]));
}

/** Each file goes on to know its own place, from which it finds threads, SQL and native parts. */
function ownPlaces(outdir) {
  return {
    name: 'own-places',
    setup(build) {
      build.onLoad({ filter: /\.(js|mjs|cjs)$/ }, ({ path }) => {
        const text = readFileSync(path, 'utf8');
        const place = JSON.stringify(relative(outdir, path));
        let contents = text.replaceAll(
          'import.meta.url',
          `new URL(${place}, import.meta.url).href`,
        );
        if (/\b__(dirname|filename)\b/.test(text) && contents === text) {
          const dir = JSON.stringify(relative(outdir, dirname(path)));
          const own = `__filename = joined$place(${place}), __dirname = joined$place(${dir})`;
          contents = `var ${own};\n${text}`;
        }
        return { contents, loader: 'js' };
      });
    },
  };
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  await bundlePrograms((text) => process.stderr.write(`${text}\n`));
}
