/** The middleware `toolSearch()`: hides tools until the model has searched for them, so that they cost no tokens. */

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
import { branded, errorMessage, isRecord, shownValue } from '@meanwhile/core/calls'
import { inputSchema, text } from './input-schema.ts'
import { schemaOf } from './schema-of.ts'

/** The options of `toolSearch`. */
export interface ToolSearchOptions {
  /** The tools that are hidden until found. Do not add them to the agent as well. */
  readonly tools: readonly Tool[]
  /** The name of the search tool. Default `tool_search`. */
  readonly toolName?: string
  /** How many tools a search returns at most; a selection by name has no limit. Default 5. */
  readonly maxResults?: number
}

const NAME = 'tool-search'

/**
 * The model gets a search tool and a reminder with the names of hidden tools (origin `tool-search`, at the beginning of
 * the history). A tool that it has found can be called from the next step on, for the whole run, and is listed after
 * the other tools. A call of a hidden tool is not run and gets an error result that explains how to find it.
 *
 * A query of plain words ranks tools by how many words occur in the name, then in the description, then by name.
 * `+word` requires a word, and `select:a,b` selects tools by name.
 */
export function toolSearch(options: ToolSearchOptions): Middleware {
  checkOptions('toolSearch', options, { tools: '', toolName: 'name', maxResults: '' })
  if (!Array.isArray(options?.tools)) throw new ConfigError('tools', 'must be a list of tools')
  const { tools, toolName = 'tool_search', maxResults = 5 } = options
  if (!Number.isInteger(maxResults) || maxResults < 1)
    throw new ConfigError('maxResults', `must be a positive integer, not ${shownValue(maxResults)}`)
  const hidden: ReadonlyMap<string, Tool> = new Map(tools.map((one: Tool) => [one.name, one]))
  const found = runLocal({ key: NAME, schema: schemaOf(isNames), initial: [] })
  const search = searchTool([...hidden.values()], toolName, maxResults)

  /** From the results, not from the calls: the model has not seen a call that was started early and discarded. */
  function remember(messages: readonly Message[], run: Run): void {
    const last = run.step === 1 ? 0 : messages.findLastIndex(({ role }) => role === 'assistant')
    const results = messages.slice(last).filter((message) => message.role === 'tool' && message.name === toolName)
    const names = (results as ToolMessage[]).flatMap(({ output }) => (isFound(output) ? output.found : []))
    const before = found(run).value
    const all = [...new Set([...before, ...names.filter((name) => hidden.has(name))])]
    if (all.length > before.length) found(run).value = all
  }

  return branded('middleware', {
    name: NAME,
    ignoresInput: true,
    order: { inside: ['summarize'], outside: ['approve'] },
    beforeAgent: (setup) => ({ ...setup, tools: [...setup.tools, search, ...hidden.values()] }),
    beforeModel({ messages, ...state }, run) {
      remember(messages, run)
      const known = new Set(found(run).value)
      const names = [...hidden.keys()].filter((name) => !known.has(name))
      if (names.length === 0 || messages.some(isReminder)) return
      const content = `There are more tools, which are not shown. Find them with ${toolName} before you call them: ${names.join(', ')}.`
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
  })
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
    description:
      'Finds more tools; tools it finds can be called in the next step. The query is words to search in names and descriptions (+word: the word is required), or select:name,name for tools whose names you know.',
    input: inputSchema({ query: text('Words, or select: followed by names.', { minLength: 1 }) }),
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
