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
  if (prefix === undefined && canStay(short, tools, taken)) return short
  const clashing = new Set(repeats(short, taken).map((index) => short[index]))
  if (prefix === undefined && clashing.size === 0) return short
  const names = tools.map((tool, index) => {
    const name = short[index] ?? ''
    const isPrefixed = prefix ?? clashing.has(name)
    return isPrefixed ? safe(tool, `${tool.server}_${tool.name}`) : name
  })
  const [again] = repeats(names, taken)
  if (again !== undefined)
    throw new ConfigError('prefix', `${tools[again]?.server}: two tools would have the name ${names[again]}`)
  return names
}

/** Whether the names are those of one server, which differ, and nobody else has them. A server may have very many. */
function canStay(names: readonly string[], tools: readonly Named[], taken: readonly string[]): boolean {
  const others = new Set(taken)
  const [first] = tools
  return names.every((name, index) => {
    const tool = tools[index]
    return tool?.name === name && tool.server === first?.server && !others.has(name)
  })
}

/** The indexes of the names that were there before, or are taken. */
function repeats(names: readonly string[], taken: readonly string[]): readonly number[] {
  const seen = new Set(taken)
  const found: number[] = []
  for (const [index, name] of names.entries()) {
    if (seen.has(name)) found.push(index)
    seen.add(name)
  }
  return found
}

/** The characters and the length that all providers accept. */
function safe({ server, name }: Named, wanted: string): string {
  const text = wanted.replace(/[^A-Za-z0-9_-]/g, '_')
  if (text.length <= LONGEST) return text
  const digest = createHash('sha256').update(`${server}\0${name}`).digest('hex').slice(0, 8)
  return `${text.slice(0, LONGEST - 9)}_${digest}`
}
