/** Options that name tools, agents or middleware: what a name that nothing has does. The page of errors has the same table. */

import { readFile } from 'node:fs/promises'
import { call, respond, say, scriptedModel } from '@meanwhile/assemble/testing'
import { type Agent, createAgent, type Middleware, type Tool, tool } from '@meanwhile/core'
import { createToolExecutor, type EagerToolsOptions, eagerTools } from '@meanwhile/eager-tools'
import { eager as eagerSdk } from '@meanwhile/eager-tools/ai-sdk'
import { eager as eagerLangChain } from '@meanwhile/eager-tools/langchain'
import {
  approve,
  callLimits,
  clearToolResults,
  filesystem,
  memoryBackend,
  offloadToolResults,
  retryTool,
  visibleText,
} from '@meanwhile/middleware'
import { createThreads, memoryThreads } from '@meanwhile/threads'
import { expect, test } from 'vitest'
import { z } from 'zod'

interface Missing {
  readonly mayBeMissing?: boolean
}

/** An option: how it is used with one name. `known` is a right name. */
interface Row {
  readonly option: string
  readonly known: string
  /** What the error says of the misspelt name, if it does not name the nearest. */
  readonly hint?: string
  readonly use: (name: string, missing: Missing) => unknown
}

const send = tool({
  name: 'send',
  description: 'Sends.',
  input: z.object({}),
  aliases: { names: ['post'] },
  execute: () => 'sent',
}) as Tool
const late = { ...send, name: 'late', aliases: {} }

/** It is the innermost: the tools of every `beforeAgent` are known. */
const adding: Middleware = {
  name: 'adding',
  beforeAgent: (setup) => ({ ...setup, tools: [...setup.tools, late] }),
}

function agentWith(middleware: Middleware, asked: { requests: number }): Agent {
  const model = scriptedModel([respond(say('Done.'))])
  const counting: Middleware = {
    name: 'counting',
    wrapModel(request, next) {
      asked.requests++
      return next(request)
    },
  }
  return createAgent({ model, tools: [send], middleware: [middleware, counting, adding] })
}

const inRun = (option: string, make: (name: string, missing: Missing) => Middleware): Row => ({
  option,
  known: 'send',
  async use(name, missing) {
    const asked = { requests: 0 }
    try {
      await agentWith(make(name, missing), asked).run('Go')
    } catch (error) {
      // A name is refused before the first model call.
      expect(asked.requests).toBe(0)
      throw error
    }
  },
})

const backend = memoryBackend()

const inRuns: readonly Row[] = [
  inRun('approve: tools', (name, missing) => approve({ tools: [name], ...missing })),
  inRun('retryTool: tools', (name, missing) => retryTool({ tools: [name], ...missing })),
  inRun('callLimits: perTool', (name, missing) => callLimits({ perTool: { [name]: 1 }, ...missing })),
  inRun('clearToolResults: exclude', (name, missing) => clearToolResults({ exclude: [name], ...missing })),
  inRun('offloadToolResults: exclude', (name, missing) => offloadToolResults({ backend, exclude: [name], ...missing })),
  inRun('visibleText: tools', (name, missing) => visibleText({ tools: [name], ...missing })),
  inRun('eagerTools: independent', (name, missing) => eagerTools({ independent: [name], ...missing })),
  inRun('eagerTools: schemas', (name, missing) => eagerTools({ schemas: { [name]: 'fixed' }, ...missing })),
]

const executor =
  (options: (name: string) => EagerToolsOptions): Row['use'] =>
  async (name, missing) => {
    const one = createToolExecutor({ tools: [send], ...options(name), ...missing })
    await one.finish('stop')
  }

// Only their names matter.
const SDK_TOOLS: Record<string, object> = { send: {} }

const sdk =
  (effects: (name: string) => object, settings: (name: string) => object = () => ({})): Row['use'] =>
  (name, missing) =>
    eagerSdk({ tools: SDK_TOOLS }, effects(name), { ...settings(name), ...missing })

const langChain =
  (effects: (name: string) => object, settings: (name: string) => object = () => ({})): Row['use'] =>
  (name, missing) => {
    const tools = [{ name: 'send', invoke: () => 'sent' }]
    return eagerLangChain({ tools } as object, effects(name), { ...settings(name), ...missing })
  }

const external = () => ({ send: 'external' })
const effects = (name: string) => ({ [name]: 'external' })

const elsewhere: readonly Row[] = [
  { option: 'createToolExecutor: independent', known: 'send', use: executor((name) => ({ independent: [name] })) },
  { option: 'createToolExecutor: schemas', known: 'send', use: executor((name) => ({ schemas: { [name]: 'fixed' } })) },
  ...(
    [
      ['AI SDK', sdk],
      ['LangChain', langChain],
    ] as const
  ).flatMap(([library, made]): Row[] => [
    { option: `eager (${library}): effects`, known: 'send', use: made(effects) },
    { option: `eager (${library}): approval`, known: 'send', use: made(external, (name) => ({ approval: [name] })) },
    {
      option: `eager (${library}): independent`,
      known: 'send',
      use: made(external, (name) => ({ independent: [name] })),
    },
    {
      option: `eager (${library}): schemas`,
      known: 'send',
      use: made(external, (name) => ({ schemas: { [name]: 'fixed' } })),
    },
  ]),
]

const mayBeMissing = [...inRuns, ...elsewhere]

/** Options whose names are all known when they are given. */
const fixed: readonly Row[] = [
  {
    option: 'createAgent: toolChoice',
    known: 'send',
    use: (name) => createAgent({ model: scriptedModel([]), tools: [send], toolChoice: { tool: name } }),
  },
  {
    option: 'filesystem: tools',
    known: 'grep',
    use: (name) => filesystem({ backend, tools: [name as 'grep'] }),
  },
  {
    option: 'createThreads: agent',
    known: 'main',
    hint: 'must be the name of an agent of the runs: main',
    use: (name) =>
      createThreads({
        store: memoryThreads(),
        runs: { agents: ['main'], onStopped: () => () => undefined } as never,
        agent: name,
      }),
  },
]

const table = [...mayBeMissing, ...fixed]

/** The name with its last letter twice. */
function misspelt(name: string): string {
  return name + name.at(-1)
}

const used = async ({ use }: Row, name: string, missing: Missing = {}) => use(name, missing)

test.each(table)(
  '$option: a misspelt name is a ConfigError that names the nearest, a right one is none (W26)',
  async (row) => {
    const { known, hint = `did you mean ${known}?` } = row
    await expect(used(row, misspelt(known))).rejects.toMatchObject({
      name: 'ConfigError',
      message: expect.stringContaining(hint) as string,
    })
    await used(row, known)
  },
)

test.each(mayBeMissing)('$option: with mayBeMissing a name that nothing has is accepted (W26)', async (row) => {
  await expect(used(row, 'nothing_like_it')).rejects.toThrow('the tools are: send')
  await used(row, 'nothing_like_it', { mayBeMissing: true })
  await expect(used(row, 'send', { mayBeMissing: 'yes' as never })).rejects.toMatchObject({ option: 'mayBeMissing' })
})

test.each(inRuns)('$option: a tool that an inner middleware adds is known (W26)', async (row) => {
  await expect(used(row, 'late')).resolves.toBeUndefined()
})

test('in the options of middleware an alias means its tool (W26, M8)', async () => {
  const executed: number[] = []
  const failing: Tool = {
    ...send,
    execute() {
      executed.push(executed.length + 1)
      throw new Error('no connection '.repeat(10))
    },
  }
  const model = scriptedModel([respond(call('post', {}), call('send', {})), respond(say('Done.'))])
  const middleware = [
    callLimits({ perTool: { post: 1 }, onLimit: 'answer' }),
    clearToolResults({ exclude: ['post'], at: { tokens: 0 }, keepSteps: 0 }),
    offloadToolResults({ backend: memoryBackend(), exclude: ['post'], maxBytes: 20 }),
    retryTool({ tools: ['post'], maxRetries: 1, baseDelay: 0 }),
  ]
  const { messages } = await createAgent({ model, tools: [failing], middleware }).run('Go')
  expect(executed).toEqual([1, 2])
  expect(messages.filter(({ role }) => role === 'tool')).toMatchObject([
    { name: 'post', content: [{ text: expect.stringMatching(/^(no connection ){10} \(tried 2 times\)$/) as string }] },
    { name: 'send', content: [{ text: 'Not run: the limit of calls of send is reached (1).' }] },
  ])
})

test('the page of errors lists the same options (W26)', async () => {
  const page = await readFile(new URL('../../../docs/errors.md', import.meta.url), 'utf8')
  const [, section = ''] = page.split('## Names in options')
  const listed = [...(section.split('\n## ')[0]?.matchAll(/^\| `(\w+)`(?: \(([^)]+)\))? \| (.+?) \|/gm) ?? [])]
  const options = listed.flatMap(([, owner, library, names = '']) =>
    [...names.matchAll(/`(\w+)`/g)].map(([, name]) => `${owner}${library ? ` (${library})` : ''}: ${name}`),
  )
  expect(options.filter((option) => !PAGE_ONLY.includes(option)).toSorted()).toEqual(
    table.map(({ option }) => option).toSorted(),
  )
})

/** Where a name that nothing has is accepted, by design; tests of their own show it. */
const PAGE_ONLY = [
  ...['effects', 'approval', 'independent', 'schemas'].map((name) => `eager (OpenAI Agents SDK): ${name}`),
  'Middleware: order',
]
