/** The drop-in for OpenAI's Agents SDK as it is with an SDK that exposes none of its helpers. */

import { registerHooks } from 'node:module'

type DropIn = typeof import('../src/openai-agents/index.ts')
type Helpers = typeof import('../src/openai-agents/early-tools.ts')

const HELPERS = '@openai/agents-core/utils/internal'
const COPY = '?bare'

// Modules that a file of the copy imports belong to the copy, too.
registerHooks({
  resolve(specifier, context, next) {
    if (!context.parentURL?.endsWith(COPY)) return next(specifier, context)
    if (specifier === HELPERS) return { url: 'data:text/javascript,', shortCircuit: true }
    const found = next(specifier, context)
    return specifier.startsWith('.') ? { ...found, url: `${found.url}${COPY}` } : found
  },
})

function copyOf(file: string): Promise<unknown> {
  return import(new URL(`../src/openai-agents/${file}${COPY}`, import.meta.url).href)
}

export const { eager } = (await copyOf('index.ts')) as DropIn
export const { loadInternals } = (await copyOf('early-tools.ts')) as Helpers
