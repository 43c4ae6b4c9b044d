/** The Vitest configuration of a library, with replaced functions in its tests. Loaded by the library's own Vitest. */

import { dirname, join, resolve } from 'node:path'
import type { SpliceSettings } from './wraps.ts'

/** Plain data, because it is written into a file. All paths are absolute. */
export interface Splice {
  /** The folder of the library's package. */
  readonly folder: string
  /** Modules that tests import → the exports that are replaced in them. */
  readonly modules: Readonly<Record<string, readonly string[]>>
  /** Specifiers that our sources import → files. */
  readonly imports: Readonly<Record<string, string>>
  /** The module with the replacements. */
  readonly wraps: string
  /** The drop-in: its module, and the name of the export that is added. Without it the functions stay as they are. */
  readonly dropIn?: { readonly module: string; readonly name: string }
  readonly settings: SpliceSettings
}

/** The part of a Vitest configuration that is used here. */
interface Config {
  readonly root?: string
  readonly plugins?: readonly object[]
  readonly test?: { readonly projects?: readonly (Config | string)[]; readonly alias?: Aliases }
}

/** As in Vite: the first match counts. */
type Aliases = Readonly<Record<string, string>> | readonly Alias[]

interface Alias {
  readonly find: string | RegExp
  readonly replacement: string
}

type ConfigExport = Config | ((env: { readonly mode: string; readonly command: string }) => Config | Promise<Config>)

/** The part of a Vite plugin's context that is used here. */
interface PluginContext {
  resolve(source: string, importer?: string, options?: object): Promise<{ readonly id: string } | null>
}

export async function splicedConfig(base: ConfigExport, splice: Splice): Promise<Config> {
  const config = typeof base === 'function' ? await base({ mode: 'full', command: 'serve' }) : base
  const { folder, imports } = splice
  // A project of a workspace has its own configuration.
  const project = config.test?.projects?.find(
    (one) => typeof one === 'object' && one.root && resolve(one.root) === folder,
  )
  const own = typeof project === 'object' ? project : config
  const test = { ...own.test, alias: withOurs(imports, own.test?.alias) }
  return { ...own, root: folder, plugins: [...(own.plugins ?? []), splicePlugin(splice)], test }
}

/** A library may have its own aliases for imports of our sources, and Vite applies aliases before it calls any plugin. */
function withOurs(imports: Splice['imports'], theirs: Aliases = []): readonly Alias[] {
  const ours = Object.entries(imports).map(([name, replacement]) => ({ find: new RegExp(`^${name}$`), replacement }))
  const rest = Array.isArray(theirs)
    ? (theirs as readonly Alias[])
    : Object.entries(theirs as Readonly<Record<string, string>>).map(([find, replacement]) => ({ find, replacement }))
  return [...ours, ...rest]
}

const PREFIX = '\0spliced:'

/** Tests get the replaced functions; everything else gets the library's own functions. */
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
        // Our sources use the checkout's version of the library's dependencies, if it has them.
        return (await this.resolve(source, join(folder, 'package.json'), { skipSelf: true })) ?? null
      }
      if (importer === undefined || !/\.test\.tsx?$/.test(importer)) return null
      const resolved = await this.resolve(source, importer, { skipSelf: true })
      return resolved && modules[resolved.id] ? PREFIX + resolved.id : null
    },
    load(id: string) {
      if (!id.startsWith(PREFIX)) return null
      const file = id.slice(PREFIX.length)
      return [
        ...(dropIn ? [`import { ${dropIn.name} } from ${JSON.stringify(dropIn.module)}`] : []),
        `import * as plain from ${JSON.stringify(file)}`,
        `import { wraps } from ${JSON.stringify(wraps)}`,
        `export * from ${JSON.stringify(file)}`,
        `const wrap = wraps({ ${dropIn?.name ?? ''} }, ${JSON.stringify(settings)})`,
        ...(modules[file] ?? []).map((name) => `export const ${name} = wrap.${name}(plain.${name}, plain)`),
      ].join('\n')
    },
  }
}
