export {
  areWorkersThere,
  isCopiedByValue,
  KEPT_STREAMS,
  lastSequences,
  PLACED_STREAMS,
  stateOfStream,
} from './kept-streams.ts';
export { type ReaderPlace, readerPlaces, restoreReader } from './reader-places.ts';
export { deleteStream, restoreStream, useSequences } from './restore-stream.ts';
export { putValues, type StoredValue, storedValues } from './stored-values.ts';
export { takeSnapshot } from './take-snapshot.ts';
