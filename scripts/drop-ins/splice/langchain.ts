/** The replacements for functions of LangChain in its tests. */

import { type Eager, listeners, reads, type SpliceSettings } from './wraps.ts'

interface Options {
  readonly tools?: readonly unknown[]
}

type CreateAgent = (options: Options) => unknown

export function wraps(eager: Eager | undefined, settings: SpliceSettings) {
  function spliced(options: Options): Options {
    const names = namesOf(options)
    if (!eager || names.length === 0) return options
    return eager(options, reads(names), listeners(settings))
  }
  return {
    createAgent:
      (plain: CreateAgent): CreateAgent =>
      (options) =>
        plain(spliced(options)),
  }
}

/** The names of the tools that have a function; tools of a provider have none. */
function namesOf({ tools }: Options): readonly string[] {
  if (!Array.isArray(tools)) return []
  return tools.flatMap((tool: unknown) =>
    typeof tool === 'object' && tool !== null && 'invoke' in tool && 'name' in tool ? [String(tool.name)] : [],
  )
}
