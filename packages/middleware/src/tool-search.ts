/** Hides tools until the model has searched for them: what it is not shown costs nothing. */

import {
  ConfigError,
  checkOptions,
  type Message,
  type Middleware,
  type Run,
  runLocal,
  type Tool,
  type ToolMessage,
  tool,
} from '@meanwhile/core'
import { errorMessage } from '@meanwhile/core/calls'
import { inputSchema, text } from './input-schema.ts'
import { isRecord } from './is-record.ts'
import { schemaOf } from './schema-of.ts'

export interface ToolSearchOptions {
  /** The tools that are hidden until found. They are the agent's by this alone. */
  readonly tools: readonly Tool[]
  /** Default `tool_search`. */
  readonly toolName?: string
  /** How many tools a search finds at the most; what is selected by name is not limited. Default 5. */
  readonly maxResults?: number
}

const NAME = 'tool-search'

/**
 * The model is shown a tool to search with, and a reminder (origin `tool-search`, in front of the history) of the names there are. What it
 * has found it may call from the next step on, for the whole run, and is shown behind the other tools. A call of a tool that it was
 * not shown is an error result that says how to find it, and is not run.
 *
 * A query of plain words ranks tools by how many are in the name, then in the description, then by name; `+word` must be in one of them;
 * `select:a,b` names tools.
 */
export function toolSearch(options: ToolSearchOptions): Middleware {
  checkOptions('toolSearch', options, { tools: '', toolName: 'name', maxResults: '' })
  if (!Array.isArray(options?.tools)) throw new ConfigError('tools', 'must be a list of tools')
  const { tools, toolName = 'tool_search', maxResults = 5 } = options
  if (!Number.isInteger(maxResults) || maxResults < 1)
    throw new ConfigError('maxResults', `must be a positive integer, not ${maxResults}`)
  const hidden: ReadonlyMap<string, Tool> = new Map(tools.map((one: Tool) => [one.name, one]))
  const found = runLocal({ key: NAME, schema: schemaOf(isNames), initial: [] })
  const search = searchTool([...hidden.values()], toolName, maxResults)

  /** Of the results, not of the calls: one that was made early and then discarded the model has not seen. */
  function remember(messages: readonly Message[], run: Run): void {
    const last = run.step === 1 ? 0 : messages.findLastIndex(({ role }) => role === 'assistant')
    const results = messages.slice(last).filter((message) => message.role === 'tool' && message.name === toolName)
    const names = (results as ToolMessage[]).flatMap(({ output }) => (isFound(output) ? output.found : []))
    const before = found(run).value
    const all = [...new Set([...before, ...names.filter((name) => hidden.has(name))])]
    if (all.length > before.length) found(run).value = all
  }

  return {
    name: NAME,
    ignoresInput: true,
    order: { inside: ['summarize'], outside: ['approve'] },
    beforeAgent: (setup) => ({ ...setup, tools: [...setup.tools, search, ...hidden.values()] }),
    beforeModel({ messages, ...state }, run) {
      remember(messages, run)
      const known = new Set(found(run).value)
      const names = [...hidden.keys()].filter((name) => !known.has(name))
      if (names.length === 0 || messages.some(isReminder)) return
      const content = `There are further tools, which are not shown. Find them with ${toolName} before you call them: ${names.join(', ')}.`
      return { ...state, messages: [{ role: 'user', content, origin: NAME }, ...messages] }
    },
    wrapModel(request, next, run) {
      const known = found(run).value
      const shown = request.tools.filter(({ name }) => !hidden.has(name))
      const behind = known.flatMap((name) => request.tools.find((one) => one.name === name) ?? [])
      return next({ ...request, tools: [...shown, ...behind] })
    },
    async *wrapToolCall(call, next, run) {
      if (!hidden.has(call.name) || found(run).value.includes(call.name)) return yield* next(call)
      const problem = `Not run: ${call.name} was not found yet. Find it with ${toolName} first, and call it in a later step.`
      return errorMessage(call, problem)
    },
  }
}

function isReminder(message: Message): boolean {
  return message.role === 'user' && message.origin === NAME
}

interface Found {
  readonly found: readonly string[]
}

function isFound(output: unknown): output is Found {
  return isRecord(output) && isNames(output.found)
}

function isNames(value: unknown): value is readonly string[] {
  return Array.isArray(value) && value.every((name) => typeof name === 'string')
}

function searchTool(tools: readonly Tool[], name: string, maxResults: number): Tool {
  const described = (found: string) => tools.find((one) => one.name === found)?.description ?? ''
  return tool({
    name,
    description: `Finds further tools; what it finds can be called in the next step. The query is words to look for in names and descriptions (+word: it must be there), or select:name,name for tools whose names you know.`,
    input: inputSchema({ query: text('Words, or select: and names.', { minLength: 1 }) }),
    effect: 'read',
    execute: ({ query }): Found => ({
      found: query.startsWith(SELECT) ? selected(tools, query) : ranked(tools, query).slice(0, maxResults),
    }),
    toContent({ found }) {
      const lines = found.map((one) => `${one}: ${described(one)}`)
      return [{ type: 'text', text: lines.length > 0 ? lines.join('\n') : '(no tool was found)' }]
    },
  }) as Tool
}

const SELECT = 'select:'

function selected(tools: readonly Tool[], query: string): readonly string[] {
  const names = new Set(
    query
      .slice(SELECT.length)
      .split(',')
      .map((name) => name.trim()),
  )
  return tools.flatMap(({ name }) => (names.has(name) ? [name] : []))
}

function ranked(tools: readonly Tool[], query: string): readonly string[] {
  const given = query.toLowerCase().split(/\s+/)
  const required = given.flatMap((word) => (word.length > 1 && word.startsWith('+') ? [word.slice(1)] : []))
  const words = [...required, ...given.filter((word) => word !== '' && !word.startsWith('+'))]
  const hits = (place: string) => words.filter((word) => place.toLowerCase().includes(word))
  return tools
    .map(({ name, description }) => ({ name, inName: hits(name), inDescription: hits(description) }))
    .filter(({ inName, inDescription }) => {
      const all = new Set([...inName, ...inDescription])
      return all.size > 0 && required.every((word) => all.has(word))
    })
    .sort(
      (a, b) =>
        b.inName.length - a.inName.length ||
        b.inDescription.length - a.inDescription.length ||
        (a.name < b.name ? -1 : 1),
    )
    .map(({ name }) => name)
}
