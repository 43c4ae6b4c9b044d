/** Checks tools, for callers without types. */

import { checkCopy } from './copies.ts'
import { checkToolOptions, inputSchemaOf, lacksNearest } from './define-tool.ts'
import { isEffect } from './effect.ts'
import { ConfigError } from './errors.ts'
import { isPlain, isRecord } from './json.ts'
import type { ModelRequest, OutputFormat } from './model.ts'
import { checkCount, checkOptions, checkSchema, checkTypes, mustBe, nearestName } from './option-checks.ts'
import { isText } from './shape.ts'
import type { Tool } from './tool.ts'

/** @throws {ConfigError} The value is not a list of tools. */
export function toolList(tools: readonly Tool[]): readonly Tool[] {
  if (!Array.isArray(tools)) throw new ConfigError('tools', 'must be a list: [weather], not { weather }')
  if (tools.some((one) => !isRecord(one))) throw new ConfigError('tools', 'one of them is not a tool')
  return tools
}

/** @throws {ConfigError} The model must call a tool that the request does not have. The error names the nearest. */
export function checkChoice({ toolChoice, tools, output }: Choice): void {
  const name = typeof toolChoice === 'string' ? undefined : toolChoice.tool
  if (name === undefined || name === output?.name || tools.some((tool) => tool.name === name)) return
  const nearest = nearestName(name, Object.fromEntries(tools.map((tool) => [tool.name, ''])))
  throw new ConfigError('toolChoice', `there is no tool "${name}"${nearest ? `; did you mean ${nearest}?` : ''}`)
}

type Choice = Pick<ModelRequest, 'toolChoice'> & {
  readonly tools: readonly { readonly name: string }[]
  readonly output?: OutputFormat | undefined
}

/** @throws {ConfigError} A member of the tool is invalid. */
export function checkTool(tool: Tool): void {
  checkCopy(tool)
  const { name, description, effect, background, execute, compensate, returnDirect } = tool
  if (name === undefined)
    throw new ConfigError('tools', 'one has no name: make each with tool({ name, description, input, execute })')
  if (typeof name !== 'string' || !/^[A-Za-z0-9_-]{1,64}$/.test(name))
    throw new ConfigError('tools', `"${String(name)}" is not a valid tool name: [A-Za-z0-9_-]{1,64}`)
  const of = `tools.${name}.`
  if (typeof description !== 'string') throw new ConfigError(`${of}description`, 'must be a string: the model reads it')
  checkTypes('function', tool, ['compensate', 'reads', 'writes', 'warm', 'toContent'], of)
  checkExecute(of, execute)
  for (const member of ['output', 'answer', 'context'] as const)
    if (tool[member]) checkSchema(of + member, tool[member])
  if (effect !== undefined && typeof effect !== 'function' && !isEffect(effect))
    throw new ConfigError('tools', `${name} has an unknown effect: ${String(effect)}. ${EFFECTS}`)
  if (!isBackground(of, background))
    throw new ConfigError('tools', `${name}: background must be a boolean, or { atEnd: 'wait' | 'cancel' | 'detach' }`)
  if (typeof (returnDirect ?? false) !== 'boolean' && typeof returnDirect !== 'function')
    throw new ConfigError(`${of}returnDirect`, 'must be true, false or a function')
  if (background && !execute) throw new ConfigError('tools', `${name} has background, but no execute`)
  if (effect === 'reversible' && !compensate)
    throw new ConfigError('tools', `${name} has the effect reversible, but no compensate. ${COMPENSATE}`)
  checkEarly(tool)
  // Unknown members are allowed. A misspelt one is reported because the right one is missing.
  const misspelt = isPlain(tool) && Object.keys(tool).find((key) => lacksNearest(tool, key))
  if (!tool.input || misspelt) checkToolOptions(misspelt ? { name, [misspelt]: true } : tool)
  checkNeeds(tool)
  checkLimits(of, tool)
}

const EFFECTS =
  "Write 'read' if it changes nothing, 'idempotent' if a second equal call changes nothing more, 'reversible' if compensate undoes it, 'calls' if it only calls other tools, or 'external', the default"

const COMPENSATE = "Write compensate(input, output), which undoes a call, or effect: 'external'"

/** @throws {ConfigError} The value is neither a function nor undefined, or is a synchronous generator, which would itself be the output. */
export function checkExecute(of: string, execute: Tool['execute']): void {
  checkCopy(execute)
  checkTypes('function', { execute }, ['execute'], of)
  if (Object.prototype.toString.call(execute) === '[object GeneratorFunction]')
    throw new ConfigError(`${of}execute`, 'must be an async generator: async *execute')
}

function isBackground(of: string, background: unknown): boolean {
  if (!isRecord(background)) return background === undefined || typeof background === 'boolean'
  checkOptions('background', background, { atEnd: '' }, `${of}background.`)
  const { atEnd = 'wait' } = background
  return ['wait', 'cancel', 'detach'].some((known) => known === atEnd)
}

/** @throws {ConfigError} The tool has `needs` or `warm`, but its calls may change something themselves. */
function checkEarly({ name, needs, warm, effect }: Tool): void {
  const option = (needs !== undefined && 'needs') || (warm !== undefined && 'warm')
  if (option && effect !== 'read' && effect !== 'calls')
    throw new ConfigError('tools', `${name} has ${option}, but not the effect read or calls`)
  if (needs === undefined || (Array.isArray(needs) && [...needs].every(isText))) return
  throw new ConfigError('tools', `the needs of ${name} must be a list of members of its input`)
}

/** @throws {ConfigError} The schema lists the members of the input, and a member in `needs` is not one of them. */
function checkNeeds(tool: Tool): void {
  const { properties, additionalProperties = false } = inputSchemaOf(tool)
  if (!isRecord(properties) || additionalProperties !== false) return
  const unknown = tool.needs?.find((key) => !Object.hasOwn(properties, key))
  if (unknown === undefined) return
  const members = Object.keys(properties).join(', ') || 'none'
  const problem = `"${unknown}" is not a member of its input; the members are: ${members}`
  throw new ConfigError(`tools.${tool.name}.needs`, problem)
}

/** @throws {ConfigError} A limit of the tool is invalid. */
export function checkLimits(of: string, limits: Pick<Tool, 'timeout' | 'cancelable' | 'concurrency'>): void {
  const { timeout, concurrency } = limits
  if (timeout !== undefined) mustBe('a number above 0', `${of}timeout`, timeout, timeout > 0)
  checkTypes('boolean', limits, ['cancelable'], of)
  if (concurrency === undefined) return
  const given = typeof concurrency === 'object' ? concurrency : { limit: concurrency }
  checkOptions('concurrency', given, { limit: 'max', whenFull: '' }, `${of}concurrency.`)
  const { limit, whenFull = 'wait' } = given
  checkCount(`${of}concurrency`, limit)
  if (whenFull !== 'wait' && whenFull !== 'fail')
    throw new ConfigError(`${of}concurrency.whenFull`, `must be 'wait' or 'fail', not ${String(whenFull)}`)
}
