/** The Vitest configuration of a library, with what replaces its functions in its tests. Loaded by the library's own Vitest. */

import { dirname, join, resolve } from 'node:path'
import type { SpliceSettings } from './wraps.ts'

/** Data, because it is written into a file. All paths are absolute. */
export interface Splice {
  /** Of the library's package. */
  readonly folder: string
  /** Modules that tests import → the names that are replaced in them. */
  readonly modules: Readonly<Record<string, readonly string[]>>
  /** Specifiers that our sources import → files. */
  readonly imports: Readonly<Record<string, string>>
  /** The module that replaces. */
  readonly wraps: string
  /** The module that exports `eager`. Without it the functions do what they always do. */
  readonly dropIn?: string
  readonly settings: SpliceSettings
}

/** What is used of a Vitest configuration. */
interface Config {
  readonly root?: string
  readonly plugins?: readonly object[]
  readonly test?: { readonly projects?: readonly (Config | string)[]; readonly alias?: Aliases }
}

/** As Vite knows them: the first that fits counts. */
type Aliases = Readonly<Record<string, string>> | readonly Alias[]

interface Alias {
  readonly find: string | RegExp
  readonly replacement: string
}

type ConfigExport = Config | ((env: { readonly mode: string; readonly command: string }) => Config | Promise<Config>)

/** What is used of a Vite plugin's context. */
interface PluginContext {
  resolve(source: string, importer?: string, options?: object): Promise<{ readonly id: string } | null>
}

export async function splicedConfig(base: ConfigExport, splice: Splice): Promise<Config> {
  const config = typeof base === 'function' ? await base({ mode: 'full', command: 'serve' }) : base
  const { folder, imports } = splice
  // A project of a workspace has a configuration of its own.
  const project = config.test?.projects?.find(
    (one) => typeof one === 'object' && one.root && resolve(one.root) === folder,
  )
  const own = typeof project === 'object' ? project : config
  const test = { ...own.test, alias: withOurs(imports, own.test?.alias) }
  return { ...own, root: folder, plugins: [...(own.plugins ?? []), splicePlugin(splice)], test }
}

/** A library may have aliases of its own for what our sources import, and no plugin is asked before them. */
function withOurs(imports: Splice['imports'], theirs: Aliases = []): readonly Alias[] {
  const ours = Object.entries(imports).map(([name, replacement]) => ({ find: new RegExp(`^${name}$`), replacement }))
  const rest = Array.isArray(theirs)
    ? (theirs as readonly Alias[])
    : Object.entries(theirs as Readonly<Record<string, string>>).map(([find, replacement]) => ({ find, replacement }))
  return [...ours, ...rest]
}

const PREFIX = '\0spliced:'

/** Tests get the replaced functions; everything else gets the library's own. */
function splicePlugin({ folder, modules, imports, wraps, dropIn, settings }: Splice): object {
  const isOurs = (importer: string | undefined): boolean =>
    importer !== undefined &&
    Object.values(imports).some((file) => importer.startsWith(dirname(file))) &&
    !isTheirs(importer)
  const isTheirs = (file: string): boolean => file.startsWith(`${folder}/`)
  return {
    name: 'splice-drop-in',
    enforce: 'pre',
    async resolveId(this: PluginContext, source: string, importer: string | undefined) {
      if (source.startsWith(PREFIX)) return source
      if (isOurs(importer) || importer?.startsWith(PREFIX)) {
        if (/^[.\0/]/.test(source)) return null
        // What our sources import of the library's dependencies are those of the checkout, if it has them.
        return (await this.resolve(source, join(folder, 'package.json'), { skipSelf: true })) ?? null
      }
      if (importer === undefined || !/\.test\.tsx?$/.test(importer)) return null
      const resolved = await this.resolve(source, importer, { skipSelf: true })
      return resolved && modules[resolved.id] ? PREFIX + resolved.id : null
    },
    load(id: string) {
      if (!id.startsWith(PREFIX)) return null
      const file = id.slice(PREFIX.length)
      const eager = dropIn === undefined ? 'undefined' : 'eager'
      return [
        ...(dropIn === undefined ? [] : [`import { eager } from ${JSON.stringify(dropIn)}`]),
        `import * as plain from ${JSON.stringify(file)}`,
        `import { wraps } from ${JSON.stringify(wraps)}`,
        `export * from ${JSON.stringify(file)}`,
        `const wrap = wraps(${eager}, ${JSON.stringify(settings)})`,
        ...(modules[file] ?? []).map((name) => `export const ${name} = wrap.${name}(plain.${name}, plain)`),
      ].join('\n')
    },
  }
}
