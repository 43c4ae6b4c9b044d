/** Says what is wrong with a tool, if anything is: JavaScript callers have no types. */

import { checkToolOptions, definitionOf, lacksNearest } from './define-tool.ts'
import { isEffect } from './effect.ts'
import { ConfigError } from './errors.ts'
import { isPlain, isRecord } from './json.ts'
import { checkCount, checkOptions, checkSchema, checkTypes, mustBe } from './option-checks.ts'
import type { Tool } from './tool.ts'

/** Throws {@link ConfigError} unless these are a list of tools. */
export function toolList(tools: readonly Tool[]): readonly Tool[] {
  if (!Array.isArray(tools)) throw new ConfigError('tools', 'must be a list')
  if (tools.some((one) => !isRecord(one))) throw new ConfigError('tools', 'one of them is no tool')
  return tools
}

/** Throws {@link ConfigError} naming what of the tool cannot work. */
export function checkTool(tool: Tool): void {
  const { name, description, effect, background, execute, compensate, reads, writes, warm, toContent, returnDirect } =
    tool
  if (typeof name !== 'string' || !/^[A-Za-z0-9_-]{1,64}$/.test(name))
    throw new ConfigError('tools', `"${String(name)}" is no tool name: [A-Za-z0-9_-]{1,64}`)
  const option = `tools.${name}`
  if (typeof description !== 'string')
    throw new ConfigError(`${option}.description`, 'must be a string: the model reads it')
  checkTypes('function', { compensate, reads, writes, warm, toContent }, `${option}.`)
  checkExecute(option, execute)
  checkSchema(`${option}.output`, tool.output)
  checkSchema(`${option}.answer`, tool.answer)
  checkSchema(`${option}.context`, tool.context)
  if (effect !== undefined && typeof effect !== 'function' && !isEffect(effect))
    throw new ConfigError('tools', `${name} has an unknown effect: ${String(effect)}. ${EFFECTS}`)
  if (!isBackground(option, background))
    throw new ConfigError('tools', `${name}: background must be a boolean, or { atEnd: 'wait' | 'cancel' | 'detach' }`)
  if (!['undefined', 'boolean', 'function'].includes(typeof (returnDirect ?? undefined)))
    throw new ConfigError(`${option}.returnDirect`, 'must be true, false or a function')
  if (background && !execute)
    throw new ConfigError('tools', `${name} is declared background and has no execute to work there`)
  if (effect === 'reversible' && !compensate)
    throw new ConfigError('tools', `${name} is declared reversible and has no compensate. ${COMPENSATE}`)
  checkEarly(tool)
  // It may have members of its own: one that is misspelt, or has its schema under another name, lacks the one that is meant.
  const misspelt = Object.keys(tool).find((key) => isPlain(tool) && lacksNearest(tool, key))
  if (!tool.input || misspelt) checkToolOptions(misspelt ? { name, [misspelt]: true } : tool)
  checkNeeds(tool)
  checkLimits(option, tool)
}

const EFFECTS =
  "Write 'read' if it changes nothing, 'idempotent' if a second equal call changes nothing more, 'reversible' if compensate undoes it, 'calls' if it only calls other tools, or 'external', the default"

const COMPENSATE = "Write compensate(input, output), which undoes a call, or effect: 'external'"

/** Throws {@link ConfigError} unless it is a function, or none. One that is a generator must be async: else its output is the generator. */
export function checkExecute(option: string, execute: Tool['execute']): void {
  checkTypes('function', { execute }, `${option}.`)
  if (Object.prototype.toString.call(execute) === '[object GeneratorFunction]')
    throw new ConfigError(`${option}.execute`, 'must be an async generator, if it is one: async *execute')
}

function isBackground(option: string, background: unknown): boolean {
  if (background === undefined || typeof background === 'boolean') return true
  if (typeof background !== 'object' || background === null) return false
  checkOptions('background', background, { atEnd: '' }, `${option}.background.`)
  const { atEnd = 'wait' } = background as { readonly atEnd?: unknown }
  return ['wait', 'cancel', 'detach'].some((known) => known === atEnd)
}

/** Work before the input is whole, or known, is for tools that change nothing themselves. */
function checkEarly({ name, needs, warm, effect }: Tool): void {
  for (const [option, given] of Object.entries({ needs, warm })) {
    if (given !== undefined && effect !== 'read' && effect !== 'calls')
      throw new ConfigError('tools', `${name} has ${option} and is not declared read or calls`)
  }
  // `every` passes over the holes of a list, which `includes` sees.
  if (
    needs === undefined ||
    (Array.isArray(needs) && !needs.includes(undefined) && needs.every((key) => typeof key === 'string'))
  )
    return
  throw new ConfigError('tools', `the needs of ${name} are no list of members of its input`)
}

/** Throws {@link ConfigError} if its schema tells which members the input has, and not this one. */
function checkNeeds(tool: Tool): void {
  const { properties, additionalProperties = false } = definitionOf(tool).inputSchema
  if (!isRecord(properties) || additionalProperties !== false) return
  const unknown = tool.needs?.find((key) => !Object.hasOwn(properties, key))
  if (unknown === undefined) return
  const members = Object.keys(properties).join(', ') || 'none'
  throw new ConfigError(
    `tools.${tool.name}.needs`,
    `"${unknown}" is no member of its input; the members are: ${members}`,
  )
}

/** Throws {@link ConfigError} naming what of a tool's own limits cannot work. */
export function checkLimits(option: string, limits: Pick<Tool, 'timeout' | 'cancelable' | 'concurrency'>): void {
  const { timeout, cancelable, concurrency } = limits
  if (timeout !== undefined) mustBe('a number above 0', `${option}.timeout`, timeout, timeout > 0)
  if (cancelable !== undefined && typeof cancelable !== 'boolean')
    throw new ConfigError(`${option}.cancelable`, `must be true or false, not ${String(cancelable)}`)
  if (concurrency === undefined) return
  const { limit, whenFull = 'wait' } =
    typeof concurrency === 'object' && concurrency !== null ? concurrency : { limit: concurrency }
  if (typeof concurrency === 'object')
    checkOptions('concurrency', concurrency, { limit: 'max', whenFull: '' }, `${option}.concurrency.`)
  checkCount(`${option}.concurrency`, limit)
  if (whenFull !== 'wait' && whenFull !== 'fail')
    throw new ConfigError(`${option}.concurrency.whenFull`, `must be 'wait' or 'fail', not ${String(whenFull)}`)
}
