/** The names that tools of servers have in a run. */

import { createHash } from 'node:crypto'
import { ConfigError } from '@meanwhile/core'

/** A tool of a server. */
export interface Named {
  readonly server: string
  readonly name: string
}

const LONGEST = 64

/**
 * The name of each tool, in order. By default a tool has its server's name for it, and only tools whose names clash, also with `taken`, have the name
 * of their server before it.
 *
 * @throws {ConfigError} Two tools would have the same name.
 */
export function toolNames(
  tools: readonly Named[],
  taken: readonly string[],
  prefix: boolean | undefined,
): readonly string[] {
  const short = tools.map((tool) => safe(tool, tool.name))
  const counts = new Map<string, number>()
  for (const name of [...taken, ...short]) counts.set(name, (counts.get(name) ?? 0) + 1)
  const names = tools.map((tool, index) => {
    const name = short[index] ?? ''
    const isPrefixed = prefix ?? (counts.get(name) ?? 0) > 1
    return isPrefixed ? safe(tool, `${tool.server}_${tool.name}`) : name
  })
  const seen = new Set(taken)
  for (const [index, name] of names.entries()) {
    if (seen.has(name))
      throw new ConfigError('prefix', `${tools[index]?.server}: two tools would have the name ${name}`)
    seen.add(name)
  }
  return names
}

/** The characters and the length that all providers accept. */
function safe({ server, name }: Named, wanted: string): string {
  const text = wanted.replace(/[^A-Za-z0-9_-]/g, '_')
  if (text.length <= LONGEST) return text
  const digest = createHash('sha256').update(`${server}\0${name}`).digest('hex').slice(0, 8)
  return `${text.slice(0, LONGEST - 9)}_${digest}`
}
