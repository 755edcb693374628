export { fromStock } from './from-stock.ts';
export {
  type KeyMove,
  missingKeys,
  sameKeys,
  type Shelf,
  SHELVES,
  type Shelves,
} from './key-moves.ts';
export { type OptionReport, optionReport } from './option-report.ts';
export type {
  BankRecord,
  BrineHistory,
  BrineIntake,
  JobCounts,
  JobFile,
  JobHead,
  ReturnFile,
  ReturnLoad,
  StockHistory,
  StockIntake,
} from './ports.ts';
export { notInFiles, unreadable } from './stock-home.ts';
export { type Kind, KINDS, Tally } from './tally.ts';
export { toStock } from './to-stock.ts';
