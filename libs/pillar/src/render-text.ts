import type { SaltValue } from '@brine/wire';
import type { PillarFiles, PillarMinion, PillarOptions, PillarPorts } from './ports.ts';
import { type Renderers, SlsRenderer } from './render-sls.ts';

/** Texts import no other files: Salt would look for these among those of the file server. */
const NO_FILES: PillarFiles = { environments: [], read: () => undefined, list: () => [] };

/**
 * Renders texts of an external pillar for a minion. As in Salt, `opts` names the master there, and
 * `pillar` is empty (Salt: salt/pillar/file_tree.py _construct_pillar). What is returned throws
 * RenderError.
 */
export function textRenderer(
  ports: PillarPorts,
  options: PillarOptions,
  minion: PillarMinion,
): (text: string, how: Renderers) => SaltValue {
  const renderer = new SlsRenderer({ ...ports, files: NO_FILES }, options, minion);
  renderer.opts.set('id', options.opts.get('id') ?? minion.id);
  return (text, how) => renderer.renderText(text, how);
}
