// Builds the JavaScript of a package, in its folder: a file for each entry of `exports`, and one for each part that entries share, because
// many small files are slow to import. Declarations are tsc's (docs/decisions/0023).
import { existsSync, globSync, readFileSync, rmSync } from 'node:fs'
import { basename, join, resolve } from 'node:path'
import type { BuildOptions, Plugin } from 'rolldown'

interface Door {
  readonly '@meanwhile/source': string
  readonly default: string
}

interface Manifest {
  readonly exports: Readonly<Record<string, string | Door>>
  readonly dependencies?: Readonly<Record<string, string>>
  readonly peerDependencies?: Readonly<Record<string, string>>
}

/** How the package of a folder is built. */
export function buildOf(folder: string): BuildOptions {
  const { exports, dependencies, peerDependencies } = JSON.parse(
    readFileSync(join(folder, 'package.json'), 'utf8'),
  ) as Manifest
  // What users install stays outside. The rest, such as a decoder that two packages share, becomes part of the package.
  const installed = Object.keys({ ...dependencies, ...peerDependencies })
  const isInstalled = (id: string): boolean => installed.some((name) => id === name || id.startsWith(`${name}/`))
  const doors = Object.values(exports)
    .filter((door) => typeof door !== 'string')
    .map((door) => [door.default.slice('./dist/'.length, -'.js'.length), door['@meanwhile/source']])
  // A program starts from its own file.
  const programs = globSync('src/*-process.ts', { cwd: folder }).map((file) => [basename(file, '.ts'), `./${file}`])
  return {
    cwd: resolve(folder),
    input: Object.fromEntries([...doors, ...programs]),
    external: (id) => id.startsWith('node:') || isInstalled(id),
    platform: 'neutral',
    resolve: { conditionNames: ['@meanwhile/source', 'import', 'default'], mainFields: ['module', 'main'] },
    // As in tsconfig.base.json.
    transform: { target: 'es2023' },
    plugins: [withoutLeft],
    output: {
      dir: resolve(folder, 'dist'),
      chunkFileNames: 'shared-[name].js',
      minifyInternalExports: false,
      // Editors show the comments of the declarations.
      comments: { jsdoc: false },
      sourcemap: true,
      sourcemapExcludeSources: true,
    },
  }
}

/** Removes what an earlier build has left: its JavaScript, and declarations of sources that are gone. The others are up to date if `tsc -b` says so. */
const withoutLeft: Plugin = {
  name: 'without-left',
  renderStart({ dir }) {
    if (!dir) throw new Error('the output has no folder')
    const isLeft = (file: string): boolean =>
      /\.js(\.map)?$/.test(file) ||
      (/\.d\.ts(\.map)?$/.test(file) && !existsSync(join(dir, '../src', file.replace(/\.d\.ts(\.map)?$/, '.ts'))))
    for (const file of globSync('**', { cwd: dir }).filter(isLeft)) rmSync(join(dir, file))
  },
}

export default (): BuildOptions => buildOf('.')
