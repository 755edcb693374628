/** A package in package-lock.json. */
export interface LockedPackage {
  readonly version?: string;
  readonly license?: string;
  readonly link?: boolean;
  /** For a link: its workspace. */
  readonly resolved?: string;
  readonly dependencies?: Readonly<Record<string, string>>;
  readonly optionalDependencies?: Readonly<Record<string, string>>;
  readonly peerDependencies?: Readonly<Record<string, string>>;
  readonly peerDependenciesMeta?: Readonly<Record<string, { readonly optional?: boolean }>>;
}

/** `packages` of package-lock.json: by path, as `libs/bus` or `node_modules/pg`. */
export type Lock = Readonly<Record<string, LockedPackage>>;

/** The packages needed at run time. */
export interface Closure {
  /** Packages of this repository, as `apps/cli`, sorted. */
  readonly workspaces: readonly string[];
  /** Packages of others, as `node_modules/pg`, sorted. */
  readonly modules: readonly string[];
}

/**
 * All packages that some workspaces need at run time, resolved as in Node.
 * @param isThere false for an optional package that is not installed, as those for other platforms
 * @throws Error if the lock lacks a package that is not optional
 */
export function closureOf(
  lock: Lock,
  roots: readonly string[],
  isThere: (path: string) => boolean,
): Closure {
  const found = new Set<string>();
  const visit = (path: string): void => {
    if (found.has(path)) return;
    found.add(path);
    for (const [name, optional] of neededBy(lock[path] ?? {})) {
      const at = resolve(lock, path, name);
      if (at !== undefined && (!optional || isThere(at))) visit(at);
      else if (!optional) throw new Error(`${path} needs ${name}, which package-lock.json lacks`);
    }
  };
  for (const root of roots) visit(root);
  const all = [...found].sort();
  const isModule = (path: string): boolean => path.includes('node_modules/');
  return {
    workspaces: all.filter((path) => !isModule(path)),
    modules: all.filter(isModule),
  };
}

function neededBy(entry: LockedPackage): Map<string, boolean> {
  const { dependencies = {}, optionalDependencies = {}, peerDependencies = {} } = entry;
  const mayLack = entry.peerDependenciesMeta ?? {};
  return new Map([
    ...Object.keys(dependencies).map((name) => [name, false] as const),
    ...Object.keys(peerDependencies).map(
      (name) => [name, mayLack[name]?.optional === true] as const,
    ),
    ...Object.keys(optionalDependencies).map((name) => [name, true] as const),
  ]);
}

/** Resolves a package as Node does: beside the other package, then in each folder above. */
function resolve(lock: Lock, from: string, name: string): string | undefined {
  for (let base = from; ; base = above(base)) {
    const path = base === '' ? `node_modules/${name}` : `${base}/node_modules/${name}`;
    const entry = lock[path];
    if (entry !== undefined) return entry.link === true ? entry.resolved : path;
    if (base === '') return undefined;
  }
}

function above(path: string): string {
  const at = path.lastIndexOf('/node_modules/');
  return at < 0 ? '' : path.slice(0, at);
}
