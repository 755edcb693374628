// Tags of packages that no source needs any more. A tag is a permission, and one without a use
// hides the next import that should not be there.
const { existsSync, readdirSync, readFileSync } = require('node:fs');
const { join } = require('node:path');

const TEST = /\.(test|fixture)\.ts$/;
const QUOTED = /['"`]([^'"`\n]+)['"`]/g;

/**
 * One line for each `on:` tag of a library that the package does not import or may import by its
 * floor, and for each `owns:` tag of an outside package that it does not name.
 * @param {string} root
 * @param {readonly Tagged[]} packages `{ name, path, floor, on, owns }` each
 * @param {Readonly<Record<string, readonly string[]>>} below what each floor may import
 * @returns {string[]}
 */
function unusedTags(root, packages, below) {
  const floorOf = new Map(packages.map(({ path, floor }) => [path, floor]));
  return packages.flatMap(({ path, floor, on, owns }) => {
    if (on.length + owns.length === 0) return [];
    const named = namedIn(join(root, path, 'src'));
    const isImported = (lib) => named.some((one) => `${one}/`.startsWith(`@brine/${lib}/`));
    const isNamed = (outside) => named.some((one) => new RegExp(`^${outside}`).test(`${one}/`));
    return [
      ...on.filter((lib) => !isImported(lib)).map((lib) => `on:${lib} is not imported`),
      ...on
        .filter((lib) => below[floor].includes(floorOf.get(`libs/${lib}`)))
        .map((lib) => `on:${lib} is allowed by floor:${floor}`),
      ...owns.filter((outside) => !isNamed(outside)).map((name) => `owns:${name} is not imported`),
    ].map((text) => `${path}: ${text}`);
  });
}

/** The quoted texts of all sources below a directory, in which the names of imports are. */
function namedIn(dir) {
  if (!existsSync(dir)) return [];
  const files = readdirSync(dir, { recursive: true, encoding: 'utf8' });
  return files
    .filter((file) => file.endsWith('.ts') && !TEST.test(file))
    .flatMap((file) => [...readFileSync(join(dir, file), 'utf8').matchAll(QUOTED)])
    .map(([, text]) => text);
}

module.exports = { unusedTags };
