// Builds the JavaScript of a package, in its folder: a file for each entry of `exports`, and one for each part that entries share, because
// many small files are slow to import. Declarations are tsc's (docs/decisions/0023).
import { existsSync, globSync, readFileSync, rmSync } from 'node:fs'
import { basename } from 'node:path'
import { defineConfig } from 'rolldown'

interface Door {
  readonly '@meanwhile/source': string
  readonly default: string
}

interface Manifest {
  readonly exports: Readonly<Record<string, string | Door>>
  readonly dependencies?: Readonly<Record<string, string>>
  readonly peerDependencies?: Readonly<Record<string, string>>
}

const { exports, dependencies, peerDependencies } = JSON.parse(readFileSync('package.json', 'utf8')) as Manifest

// What users install stays outside. The rest, such as a decoder that two packages share, becomes part of the package.
const installed = Object.keys({ ...dependencies, ...peerDependencies })
const isInstalled = (id: string): boolean => installed.some((name) => id === name || id.startsWith(`${name}/`))

const doors = Object.values(exports)
  .filter((door) => typeof door !== 'string')
  .map((door) => [door.default.slice('./dist/'.length, -'.js'.length), door['@meanwhile/source']])

// A program starts from its own file.
const programs = globSync('src/*-process.ts').map((file) => [basename(file, '.ts'), file])

/** What an earlier build has left: its JavaScript, and declarations of sources that are gone. The others are up to date if `tsc -b` says so. */
const isLeft = (file: string): boolean =>
  /\.js(\.map)?$/.test(file) ||
  (/\.d\.ts(\.map)?$/.test(file) && !existsSync(file.replace(/^dist/, 'src').replace(/\.d\.ts(\.map)?$/, '.ts')))

for (const file of globSync('dist/**').filter(isLeft)) rmSync(file)

export default defineConfig({
  input: Object.fromEntries([...doors, ...programs]),
  external: (id) => id.startsWith('node:') || isInstalled(id),
  platform: 'neutral',
  resolve: { conditionNames: ['@meanwhile/source', 'import', 'default'], mainFields: ['module', 'main'] },
  // As in tsconfig.base.json.
  transform: { target: 'es2023' },
  output: {
    dir: 'dist',
    chunkFileNames: 'shared-[name].js',
    minifyInternalExports: false,
    // Editors show the comments of the declarations.
    comments: { jsdoc: false },
    sourcemap: true,
    sourcemapExcludeSources: true,
  },
})
