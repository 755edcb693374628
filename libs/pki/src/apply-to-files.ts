import { keyHash, STATE_PRECEDENCE } from './key-dirs.ts';
import type { KeyFiles, KeyStore } from './key-store.ts';

/** Changes the files of one id to match the record; `files` are those found there. */
export async function applyToFiles(
  store: KeyStore,
  id: string,
  { files, target }: { readonly files: KeyFiles; readonly target: KeyFiles },
): Promise<void> {
  if (target.state === undefined || target.pub === undefined) {
    for (const state of STATE_PRECEDENCE) await store.remove(state, id);
  } else if (files.state === undefined || keyHash(files.pub ?? '') !== keyHash(target.pub)) {
    await store.put(id, target.state, target.pub);
  } else if (files.state !== target.state) {
    await store.move(id, files.state, target.state);
    await store.put(id, target.state, target.pub);
  }
  if (target.denied === undefined) await store.remove('denied', id);
  else if (files.denied === undefined || keyHash(files.denied) !== keyHash(target.denied)) {
    await store.write('denied', id, target.denied);
  }
}
