export { showLive } from './live-view.ts';
export { pictures } from './pictures.ts';
export { TopSource } from './source.ts';
export { EVERY_S } from './state.ts';
