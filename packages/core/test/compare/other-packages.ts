/** Redirects imports of package sources to another checkout. */

import { registerHooks } from 'node:module'
import { pathToFileURL } from 'node:url'

const HERE = new URL('../../../', import.meta.url).href

/** `folder`: the checkout. Call this before anything of the packages is imported. */
export function takePackagesOf(folder: string): void {
  const there = pathToFileURL(`${folder}/packages/`).href
  registerHooks({
    resolve(specifier, context, next) {
      const resolved = next(specifier, context)
      const [, name, path] = /^([^/]+)\/src\/(.+)$/.exec(resolved.url.slice(HERE.length)) ?? []
      if (!resolved.url.startsWith(HERE) || !path) return resolved
      return { ...resolved, url: `${there}${name}/src/${path}` }
    },
  })
}
