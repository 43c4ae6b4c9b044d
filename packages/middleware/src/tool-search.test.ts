import { call, respond, type ScriptStep, say, scriptedModel } from '@meanwhile/assemble/testing'
import { createAgent, type Middleware, type Tool, textOf, tool } from '@meanwhile/core'
import { expect, test, vi } from 'vitest'
import { z } from 'zod'
import { ask, goneOn } from '../test/asking.ts'
import { approve } from './approve.ts'
import { summarize } from './summarize.ts'
import { type ToolSearchOptions, toolSearch } from './tool-search.ts'

function make(name: string, description: string, execute: Tool['execute'] = () => `${name} ran`): Tool {
  return tool({ name, description, input: z.object({}), execute: execute as () => unknown }) as Tool
}

const hidden = [
  make('read_mail', 'Reads a message from the inbox.'),
  make('send_mail', 'Sends a message to somebody.'),
  make('mail', 'Counts the messages.'),
  make('weather', 'Tells how it will be. Sends nothing.'),
  make('add', 'Adds two numbers.'),
]

interface Given extends Partial<ToolSearchOptions> {
  readonly own?: readonly Tool[]
  readonly before?: readonly Middleware[]
  readonly after?: readonly Middleware[]
}

function agentOf(
  steps: readonly (readonly ScriptStep[])[],
  { own = [], before = [], after = [], ...options }: Given = {},
) {
  const model = scriptedModel([...steps.map((calls) => respond(...calls)), respond(say('Done.'))])
  const middleware = [...before, toolSearch({ tools: hidden, ...options }), ...after]
  return { model, agent: createAgent({ model, tools: own, middleware }) }
}

/** The results of the calls, and the tools in each request. */
async function searched(steps: readonly (readonly ScriptStep[])[], given: Given = {}) {
  const { model, agent } = agentOf(steps, given)
  const { messages } = await agent.run('Go')
  const results = messages.flatMap((message) =>
    message.role === 'tool' ? [(message.isError ? 'error: ' : '') + textOf(message)] : [],
  )
  return { results, messages, shown: model.requests.map(({ tools }) => tools.map(({ name }) => name)) }
}

const found = async (query: string, options: Given = {}) => {
  const { shown } = await searched([[call('tool_search', { query })]], options)
  return shown.at(-1)?.slice(1)
}

test('plain words rank by name before description, ties by name (N47)', async () => {
  expect(await found('mail')).toEqual(['mail', 'read_mail', 'send_mail'])
  expect(await found('message')).toEqual(['mail', 'read_mail', 'send_mail'])
  expect(await found('send')).toEqual(['send_mail', 'weather'])
  expect(await found('SEND  Mail')).toEqual(['send_mail', 'mail', 'read_mail', 'weather'])
  expect(await found('mail inbox')).toEqual(['read_mail', 'mail', 'send_mail'])
  expect(await found('zebra')).toEqual([])
  expect(await found('  ')).toEqual([])
  expect(await found('+')).toEqual([])
})

test('a word with a plus is required, in name or description (N47)', async () => {
  expect(await found('+send mail')).toEqual(['send_mail', 'weather'])
  expect(await found('+mail +inbox')).toEqual(['read_mail'])
  expect(await found('+mail zebra')).toEqual(['mail', 'read_mail', 'send_mail'])
  expect(await found('mail +zebra')).toEqual([])
})

test('select is exact and unlimited, words are limited (N47)', async () => {
  expect(await found('mail', { maxResults: 2 })).toEqual(['mail', 'read_mail'])
  expect(await found('select:weather, mail,send_mail,Add,nobody', { maxResults: 1 })).toEqual([
    'send_mail',
    'mail',
    'weather',
  ])
})

test('the model reads what was found, or that nothing was (N47)', async () => {
  const { results } = await searched([[call('tool_search', { query: 'add' })], [call('tool_search', { query: '?' })]])
  expect(results).toEqual(['add: Adds two numbers.', '(no tool was found)'])
})

test('found tools stay for the run, listed after the others in the order in which they were found (N48)', async () => {
  const { shown, results } = await searched(
    [
      [call('tool_search', { query: 'weather' })],
      [call('weather')],
      [call('tool_search', { query: 'mail' }), call('tool_search', { query: 'weather' })],
      [call('send_mail')],
    ],
    {
      own: [make('own', 'Mine.')],
      after: [{ name: 'late', beforeAgent: (s) => ({ ...s, tools: [...s.tools, make('late', 'Late.')] }) }],
    },
  )
  const first = ['own', 'tool_search', 'late']
  expect(shown).toEqual([
    first,
    [...first, 'weather'],
    [...first, 'weather'],
    [...first, 'weather', 'mail', 'read_mail', 'send_mail'],
    [...first, 'weather', 'mail', 'read_mail', 'send_mail'],
  ])
  expect([results[1], results[4]]).toEqual(['weather ran', 'send_mail ran'])
})

test('tools found according to the history of a new run are shown from its first step on (N48)', async () => {
  const { messages } = await searched([[call('tool_search', { query: 'add' })]])
  const { model, agent } = agentOf([])
  await agent.run([...messages, { role: 'user', content: 'And now?' }])
  expect(model.requests.map(({ tools }) => tools.map(({ name }) => name))).toEqual([['tool_search', 'add']])
})

test('found tools are kept over a resume, and are forgotten with the run (N48)', async () => {
  const steps = [[call('tool_search', { query: 'add' })], [call('ask')], [call('add')]]
  const { agent, model } = agentOf(steps, { own: [ask] })
  const resumed = await goneOn(agent, await agent.run('Go'))
  expect(model.requests.at(-1)?.tools.map(({ name }) => name)).toEqual(['ask', 'tool_search', 'add'])
  expect(resumed.messages.filter(({ role }) => role === 'tool').map(textOf)).toEqual([
    'add: Adds two numbers.',
    'Well.',
    'add ran',
  ])
  const next = agentOf([])
  await next.agent.run('Go')
  expect(next.model.requests[0]?.tools.map(({ name }) => name)).toEqual(['tool_search'])
})

test('tools found in an earlier run stay found in a run that continues from it, and no tool is listed twice (N48)', async () => {
  const { messages } = await searched([[call('tool_search', { query: 'mail' })]])
  const input = [...messages, { role: 'user', content: 'Go on.' } as const]
  const same = agentOf([])
  await same.agent.run(input)
  expect(same.model.requests[0]?.tools.map(({ name }) => name)).toEqual([
    'tool_search',
    'mail',
    'read_mail',
    'send_mail',
  ])
  const [first, second, ...others] = hidden
  const shown = agentOf([], { tools: others, own: [first, second] as readonly Tool[] })
  await shown.agent.run(input)
  expect(shown.model.requests[0]?.tools.map(({ name }) => name)).toEqual([
    'read_mail',
    'send_mail',
    'tool_search',
    'mail',
  ])
})

test('a reminder at the beginning of the history lists the hidden names, once (N48)', async () => {
  const { messages } = await searched([[call('tool_search', { query: 'mail' })], [call('mail')]])
  const reminders = messages.filter((message) => message.role === 'user' && message.origin === 'tool-search')
  expect(reminders).toEqual([messages[0]])
  expect(messages[0]?.content).toBe(
    'There are more tools, which are not shown. Find them with tool_search before you call them: read_mail, send_mail, mail, weather, add.',
  )
  expect((await searched([], { tools: [] })).messages).toHaveLength(2)
})

test('the reminder comes back after summarize, with the names that are still hidden, and found tools stay (N48)', async () => {
  const writer = scriptedModel([respond(say('In short.'))])
  const { messages, shown } = await searched(
    [[call('tool_search', { query: 'mail' })], [call('mail')], [call('add')]],
    { before: [summarize({ model: writer, at: { messages: 5 }, keep: { steps: 1, userTokens: 0 } })] },
  )
  expect(messages.slice(0, 2)).toMatchObject([
    { origin: 'tool-search', content: expect.stringMatching(/: weather, add\.$/) as string },
    { origin: 'summarize' },
  ])
  expect(shown.at(-1)).toEqual(['tool_search', 'mail', 'read_mail', 'send_mail'])
  expect(() => agentOf([], { after: [summarize()] })).toThrow(/summarize.*tool-search|tool-search.*summarize/)
})

test('a call of a hidden tool gets an error result that names the search tool, and is not run (N49)', async () => {
  const execute = vi.fn(() => 'ran')
  const ask = vi.fn()
  const { results } = await searched(
    [[call('tool_search', { query: 'secret' }), call('secret'), call('secret', { x: 1 })]],
    {
      tools: [make('secret', 'Hidden.', execute)],
      toolName: 'find',
      after: [approve({ tools: () => true, ask })],
    },
  )
  expect(results.slice(1)).toEqual(
    Array(2).fill('error: Not run: secret was not found yet. Find it with find first, and call it in a later step.'),
  )
  expect([execute.mock.calls, ask.mock.calls]).toEqual([[], []])
})

test('results of another search tool find nothing, and neither do unknown names (N48)', async () => {
  const { shown } = await searched([[call('other')]], {
    own: [make('other', 'Other.', () => ({ found: ['add'] }))],
  })
  expect(shown.at(-1)).toEqual(['other', 'tool_search'])
})

test('invalid options, and a name that is taken, are a ConfigError (A2, M11)', async () => {
  for (const options of [undefined, { tools: 'add' }])
    expect(() => toolSearch(options as never)).toThrow(expect.objectContaining({ option: 'tools' }))
  for (const maxResults of [0, 1.5, Number.NaN])
    expect(() => toolSearch({ tools: [], maxResults })).toThrow(expect.objectContaining({ option: 'maxResults' }))
  const taken = { middleware: 'tool-search', hook: 'beforeAgent', cause: { name: 'ConfigError', option: 'tools' } }
  await expect(searched([], { own: [make('add', 'Mine.')] })).rejects.toMatchObject(taken)
})
