import { call, collect, end, respond, say, scriptedModel } from '@meanwhile/assemble/testing'
import { createAgent, type Message, type Tool, textOf, tool } from '@meanwhile/core'
import { expect, test } from 'vitest'
import { z } from 'zod'
import { CLEARED, type ClearToolResultsOptions, clearToolResults } from './clear-tool-results.ts'
import { memoryBackend } from './memory-backend.ts'
import { offloadToolResults } from './offload-tool-results.ts'

/** Each result is 100 tokens by its characters. */
const look = tool({
  name: 'look',
  description: 'Looks.',
  input: z.object({ n: z.number() }),
  execute({ n }) {
    if (n < 0) throw new Error(`${n}`.padEnd(400, '.'))
    return `${n}`.padEnd(400, '.')
  },
}) as Tool

/** A run of one call per step, and what the model read in each step. */
async function ran(numbers: readonly number[], options: ClearToolResultsOptions, usage?: readonly object[]) {
  const steps = numbers.map((n, place) =>
    respond(call('look', { n }, { id: `c${n}` }), end({ ...(usage?.[place] && { usage: usage[place] }) })),
  )
  const model = scriptedModel([...steps, respond(say('Done.'))])
  const agent = createAgent({ model, tools: [look], middleware: [clearToolResults(options)] })
  const { result, error } = await collect(agent.stream('Go'))
  return { result, error, requests: model.requests.map(({ messages }) => messages) }
}

const results = (messages: readonly Message[] = []) =>
  messages.flatMap((message) => (message.role === 'tool' ? [textOf(message).replace(/\.{3,}$/, '')] : []))

test('above the limit the results of all but the last step become a placeholder (N30)', async () => {
  const { requests, result } = await ran([1, 2, 3, 4], { at: { tokens: 250 } })
  expect(requests.map(results)).toEqual([[], ['1'], ['1', '2'], [CLEARED, CLEARED, '3'], [CLEARED, CLEARED, '3', '4']])
  expect(results(result?.messages)).toEqual([CLEARED, CLEARED, '3', '4'])
})

test('call, id, name and isError stay, and so does the output (N30)', async () => {
  const { requests } = await ran([-1, 2, 3], { at: { tokens: 250 } })
  expect(requests.at(-1)?.slice(1, 5)).toEqual([
    expect.objectContaining({
      role: 'assistant',
      content: [{ type: 'tool-call', id: 'c-1', name: 'look', input: { n: -1 } }],
    }),
    { role: 'tool', callId: 'c-1', name: 'look', content: [{ type: 'text', text: CLEARED }], isError: true },
    expect.objectContaining({ role: 'assistant' }),
    {
      role: 'tool',
      callId: 'c2',
      name: 'look',
      content: [{ type: 'text', text: CLEARED }],
      output: '2'.padEnd(400, '.'),
    },
  ])
})

test('no result is cleared twice, and if nothing is left to clear nothing changes (N30)', async () => {
  const counted: number[] = []
  const countTokens = (messages: readonly Message[]) => {
    counted.push(messages.length)
    return 1_000 * messages.length
  }
  const { requests } = await ran([1, 2, 3], { at: { tokens: 0 }, countTokens })
  expect(requests.map(results)).toEqual([[], ['1'], [CLEARED, '2'], [CLEARED, CLEARED, '3']])
  // Each time the whole history; then the one result that is cleared, before and after.
  expect(counted).toEqual([5, 1, 1, 7, 1, 1])
})

test('a limit that is reached but not exceeded has no effect; reported usage counts (N30)', async () => {
  const usage = [{}, { inputTokens: 800, outputTokens: 100 }]
  expect(results((await ran([1, 2], { at: { tokens: 1_000 } }, usage)).requests.at(-1))).toEqual(['1', '2'])
  expect(results((await ran([1, 2], { at: { tokens: 999 } }, usage)).requests.at(-1))).toEqual([CLEARED, '2'])
})

test('keepSteps and exclude keep results (N30)', async () => {
  const at = { tokens: 0 }
  expect(results((await ran([1, 2, 3], { at, keepSteps: 2 })).requests.at(-1))).toEqual([CLEARED, '2', '3'])
  expect(results((await ran([1, 2, 3], { at, keepSteps: 0 })).requests.at(-1))).toEqual([CLEARED, CLEARED, CLEARED])
  expect(results((await ran([1, 2, 3], { at, keepSteps: 9 })).requests.at(-1))).toEqual(['1', '2', '3'])
  expect(results((await ran([1, 2, 3], { at, exclude: ['look'] })).requests.at(-1))).toEqual(['1', '2', '3'])
})

test('if less than atLeastTokens would be freed nothing changes (N31)', async () => {
  const { requests } = await ran([1, 2, 3, 4, 5], { at: { tokens: 0 }, atLeastTokens: 180 })
  expect(requests.map(results)).toEqual([
    [],
    ['1'],
    ['1', '2'],
    [CLEARED, CLEARED, '3'],
    [CLEARED, CLEARED, '3', '4'],
    [CLEARED, CLEARED, CLEARED, CLEARED, '5'],
  ])
})

test('between two clearings each request begins with the bytes of the previous one (N32)', async () => {
  const { requests } = await ran([1, 2, 3, 4, 5, 6], { at: { tokens: 0 }, atLeastTokens: 180 })
  const bytes = requests.map((messages) => JSON.stringify(messages).slice(0, -1))
  const grows = bytes.map((text, n) => n === 0 || text.startsWith(bytes[n - 1] ?? ''))
  expect(grows).toEqual([true, true, true, false, true, false, true])
})

test('without options it acts above 160,000 tokens (N30)', async () => {
  for (const [inputTokens, first] of [
    [159_900, '1'],
    [159_901, CLEARED],
  ] as const) {
    const { requests } = await ran([1, 2], {}, [{}, { inputTokens }])
    expect(results(requests.at(-1))).toEqual([first, '2'])
  }
})

test('the placeholder of a result that was stored in a file keeps its path, and is not cleared again (O14)', async () => {
  const backend = memoryBackend()
  const clearing = clearToolResults({ at: { tokens: 0 }, countTokens: (messages) => messages.length })
  const middleware = [clearing, offloadToolResults({ backend, maxBytes: 100, preview: 10 })]
  const steps = [1, 2, 3].map((n) => respond(call('look', { n })))
  const model = scriptedModel([...steps, respond(say('Done.'))])
  const { messages } = await createAgent({ model, tools: [look], middleware }).run('Go')
  const paths = (await backend.list('tool-results', { limit: 9 })).map(({ name }) => `tool-results/${name}`)
  expect(paths).toHaveLength(3)
  const read = results(messages)
  for (const text of read.slice(0, 2)) {
    const [, path] =
      /^\[This old tool result was cleared\.\] \[The full result is in (\S+); read it with read_file\.\]$/.exec(text) ??
      []
    expect(paths).toContain(path)
  }
  expect(read[2]).toContain('The full result is in')
})

test('a result that only looks like a placeholder is cleared like any other (N30)', async () => {
  for (const text of [`${CLEARED} Not really.`, `${CLEARED} [The full result is in a\nb; read it with read_file.]`]) {
    const sly = tool({ name: 'sly', description: 'Sly.', input: z.object({}), execute: () => text }) as Tool
    const model = scriptedModel([respond(call('sly')), respond(call('sly')), respond(say('Done.'))])
    const { messages } = await createAgent({
      model,
      tools: [sly],
      middleware: [clearToolResults({ at: { tokens: 0 } })],
    }).run('Go')
    expect(results(messages)).toEqual([CLEARED, text])
  }
})

test('options that are not whole numbers are a ConfigError naming them', () => {
  for (const [options, option] of [
    [{ at: { tokens: -1 } }, 'at.tokens'],
    [{ keepSteps: 0.5 }, 'keepSteps'],
    [{ atLeastTokens: Number.NaN }, 'atLeastTokens'],
    [{ exclude: 'look' } as object, 'exclude'],
  ] as const)
    expect(() => clearToolResults(options)).toThrow(expect.objectContaining({ name: 'ConfigError', option }))
})
