/** A second copy of the packages, which this process loads from the same files. */

import { registerHooks } from 'node:module'
import type { Copy } from './two-copies.ts'

const COPY = '?second'
const PACKAGES = new URL('../../../packages/', import.meta.url).href

// The files of our packages that a file of the copy imports belong to the copy, too.
registerHooks({
  resolve(specifier, context, next) {
    const found = next(specifier, context)
    const isCopied = context.parentURL?.endsWith(COPY) && found.url.startsWith(PACKAGES)
    return isCopied ? { ...found, url: `${found.url}${COPY}` } : found
  },
})

function copyOf(name: string): Promise<unknown> {
  return import(`${import.meta.resolve(name)}${COPY}`)
}

export const core = (await copyOf('@meanwhile/core')) as Copy['core']
export const middleware = (await copyOf('@meanwhile/middleware')) as Copy['middleware']
