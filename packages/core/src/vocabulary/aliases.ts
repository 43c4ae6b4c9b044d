/** Resolves aliases: turns a call with other names of a tool or its input into one with the tool's own names. */

import { inputSchemaOf } from './define-tool.ts'
import { ConfigError } from './errors.ts'
import { isRecord } from './json.ts'
import type { ToolCall } from './message.ts'
import { checkOptions } from './option-checks.ts'
import type { Tool } from './tool.ts'

/** Returns the tool with this name or alias. */
export function findTool(tools: readonly Tool[], name: string): Tool | undefined {
  return tools.find((tool) => tool.name === name || tool.aliases?.names?.includes(name))
}

/** Returns the names and aliases of all tools. */
export function namesOf(tools: readonly Tool[]): ReadonlySet<string> {
  return new Set(tools.flatMap(({ name, aliases }) => [name, ...(aliases?.names ?? [])]))
}

/**
 * Returns the call with the tool's own name and the tool's own top-level keys. A key that is present overrides its aliases; of several aliases the
 * one declared first counts. Returns the same call if it needs no change or its tool is unknown.
 */
export function resolveAliases(call: ToolCall, tools: readonly Tool[]): ToolCall {
  const tool = findTool(tools, call.name)
  if (!tool?.aliases) return call
  const input = withOwnKeys(call.input, tool.aliases.input ?? {})
  if (tool.name === call.name && input === call.input) return call
  return Object.freeze({ ...call, name: tool.name, input })
}

/** @throws {ConfigError} An alias is ambiguous or empty. */
export function checkAliases(tools: readonly Tool[]): void {
  const names = new Map<string, string>()
  for (const tool of tools) {
    checkLists(tool)
    claim(names, tool.name, tool.name, sameName)
    for (const alias of tool.aliases?.names ?? []) claim(names, alias, tool.name, sameWord)
    checkKeys(tool)
  }
}

const sameWord: Problem = (one, word, by) => `two tools are called "${word}": ${one} and ${by}`

const sameName: Problem = (one, word, by) => (one === word ? `two tools are called "${word}"` : sameWord(one, word, by))

/** A text, too, is a list of words, each a character. */
function checkLists({ name, aliases }: Tool): void {
  if ((aliases ?? undefined) === undefined) return
  const lists: unknown[] = [aliases?.names ?? [], ...Object.values(aliases?.input ?? {})]
  if (!isRecord(aliases) || !lists.every((one) => Array.isArray(one)))
    throw new ConfigError('tools', `the aliases of ${name} must be { names?: [], input?: { key: [] } }`)
  checkOptions('aliases', aliases, { names: '', input: '' }, `tools.${name}.aliases.`)
}

function checkKeys(tool: Tool): void {
  if (!tool.aliases?.input) return
  const { properties } = inputSchemaOf(tool)
  const keys = new Map(Object.keys(isRecord(properties) ? properties : {}).map((key) => [key, key]))
  for (const [key, aliases] of Object.entries(tool.aliases.input)) {
    for (const alias of aliases) {
      claim(keys, alias, key, (other) => `${tool.name}: the alias "${alias}" of ${key} already stands for ${other}`)
    }
  }
}

/** What is wrong if a word of one thing is that of another. */
type Problem = (one: string, word: string, by: string) => string

function claim(taken: Map<string, string>, word: string, by: string, problem: Problem): void {
  if (typeof word !== 'string' || word === '') throw new ConfigError('tools', `an alias of ${by} is empty`)
  const other = taken.get(word)
  if (other !== undefined) throw new ConfigError('tools', problem(other, word, by))
  taken.set(word, by)
}

function withOwnKeys(input: unknown, aliases: Readonly<Record<string, readonly string[]>>): unknown {
  if (!isRecord(input)) return input
  /** The keys that aliases stand for: `undefined` for one that does not count. */
  const meant = new Map<string, string | undefined>()
  for (const [key, names] of Object.entries(aliases)) {
    let missing = !Object.hasOwn(input, key)
    for (const name of names) {
      if (!Object.hasOwn(input, name)) continue
      meant.set(name, missing ? key : undefined)
      missing = false
    }
  }
  if (meant.size === 0) return input
  const entries = Object.entries(input).flatMap(([key, value]): [string, unknown][] => {
    const own = meant.has(key) ? meant.get(key) : key
    return own === undefined ? [] : [[own, value]]
  })
  return Object.freeze(Object.fromEntries(entries))
}
