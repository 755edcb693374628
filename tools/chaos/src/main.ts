import { runTool } from '@brine/swarm/options';
import { nodes } from './modes/nodes.ts';
import { own } from './modes/own.ts';
import { rolling } from './modes/rolling/rolling.ts';
import { staging } from './modes/staging.ts';
import { tree } from './modes/tree/tree-mode.ts';

/** Modes by their option; without one the run has its own master. */
const MODES = new Map([
  ['--rolling', rolling],
  ['--nodes', nodes],
  ['--tree', tree],
  ['--staging', staging],
]);

const asked = process.argv.slice(2).map((arg) => MODES.get(arg.split('=', 1)[0] ?? ''));
await runTool({ name: 'chaos', ...(asked.find((mode) => mode !== undefined) ?? own) });
