import { promisify } from 'node:util';
import { brotliCompress, constants, gzip } from 'node:zlib';
import react from '@vitejs/plugin-react';
import type { Plugin, Rolldown } from 'vite';
import { defineConfig } from 'vite';
import { overBudget, type SizedFile } from './build/budget.ts';

/** What http-api replaces by the nonce of an answer. */
const NONCE = 'nonce-of-the-answer';
/** Below this a compressed copy saves nothing, bytes. */
const COMPRESSED_MIN = 1_024;
/** A master of `npm start`, for `vite dev`. */
const MASTER = 'http://127.0.0.1:4507';

type Part = Rolldown.OutputChunk | Rolldown.OutputAsset;
const [gzipped, brotlied] = [promisify(gzip), promisify(brotliCompress)];

/** Puts compressed copies beside the files, and fails where the page is too large. */
function compressed(): Plugin {
  return {
    name: 'compressed',
    // Last: the build itself puts addresses into the code here.
    enforce: 'post',
    generateBundle: {
      order: 'post',
      async handler(_options, bundle) {
        const compress = async ([fileName, part]: [string, Part]): Promise<SizedFile> => {
          const bytes = Buffer.from(part.type === 'chunk' ? part.code : part.source);
          const zipped = await gzipped(bytes, { level: constants.Z_BEST_COMPRESSION });
          const { isEntry, imports } =
            part.type === 'chunk' ? part : { isEntry: false, imports: [] };
          // The page itself gets a nonce in each answer.
          if (bytes.length >= COMPRESSED_MIN && !fileName.endsWith('.html')) {
            this.emitFile({ type: 'asset', fileName: `${fileName}.gz`, source: zipped });
            const source = await brotlied(bytes);
            this.emitFile({ type: 'asset', fileName: `${fileName}.br`, source });
          }
          return { fileName, gzip: zipped.length, isEntry, imports };
        };
        const over = overBudget(await Promise.all(Object.entries(bundle).map(compress)));
        if (over.length > 0) this.error(over.join('\n'));
      },
    },
  };
}

export default defineConfig({
  // Addresses are relative to the file that names them: the prefix is that of the site.
  base: './',
  html: { cspNonce: NONCE },
  plugins: [react(), compressed()],
  build: {
    outDir: 'dist/site',
    emptyOutDir: true,
    assetsInlineLimit: 0,
    modulePreload: { polyfill: false },
    target: 'es2023',
    rolldownOptions: { checks: { pluginTimings: false } },
    license: { fileName: 'licences.md' },
  },
  server: { proxy: { '/v1': MASTER } },
});
