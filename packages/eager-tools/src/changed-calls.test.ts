import { call, collect, respond, say, wait } from '@meanwhile/assemble/testing'
import { type AssistantPart, createAgent, type Middleware, type Tool, tool } from '@meanwhile/core'
import { played } from '@meanwhile/tests/clock'
import { unhandledRejections } from '@meanwhile/tests/rejections'
import { beforeEach, expect, test, vi } from 'vitest'
import { done, ran } from '../test/early-runs.ts'
import { results, toolOutline } from '../test/outline.ts'
import { type Moment, sayDone, tellingModel } from '../test/telling-model.ts'
import { after, input, workshop } from '../test/workshop.ts'
import { eagerTools } from './index.ts'

unhandledRejections()

beforeEach(() => {
  vi.useFakeTimers()
  return () => vi.useRealTimers()
})

/** Closed at 100 ms as `{"n":1,"ms":500}`, sealed at 200 ms with this text; the stream ends at 300. */
const changing = (final: string, name = 'look'): (readonly Moment[])[] => [
  [
    [100, (to) => to.call(0, { id: 'c1', name, delta: '{"n":1,"ms":500}' })],
    [200, (to) => to.seal(0, final)],
    [300, (to) => to.finish('tool-calls')],
  ],
  sayDone,
]

async function changed(final: string) {
  const { log, tools } = workshop()
  const agent = createAgent({ model: tellingModel(changing(final)), tools, middleware: [eagerTools()] })
  const { events, result } = await played(collect(agent.stream('Go')))
  return { log, lines: toolOutline(events), results: results(result?.messages) }
}

test('arguments that change after they closed discard the early run; the call runs once with the final ones (H8)', async () => {
  const { log, lines, results } = await changed('{"n":2}')
  expect(log).toEqual(['100 look 1', '200 look 1 aborted', '200 look 2'])
  expect(lines).toEqual([
    'tool-start c1 provisional',
    'tool-discarded c1 arguments_changed',
    'tool-start c1 provisional',
    'tool-committed c1',
    'tool-end c1',
  ])
  expect(results.map(({ callId, output }) => [callId, output])).toEqual([['c1', 'look 2']])
})

test('invalid final arguments discard the early run, and the call gets its error result (H8)', async () => {
  const { log, lines, results } = await changed('{"n":"two"}')
  expect(log).toEqual(['100 look 1', '200 look 1 aborted'])
  expect(lines).toEqual([
    'tool-start c1 provisional',
    'tool-discarded c1 arguments_changed',
    'tool-start c1',
    'tool-end c1 error',
  ])
  expect(results[0]?.content).toEqual([{ type: 'text', text: expect.stringContaining('invalid input for look') }])
})

test('different white space, key order and escapes are not a change (H8)', async () => {
  const { log, lines } = await changed('{ "ms": 5e2, "\\u006e": 1 }')
  expect(log).toEqual(['100 look 1'])
  expect(lines).toEqual(['tool-start c1 provisional', 'tool-committed c1', 'tool-end c1'])
})

test('arguments that contain equal pieces start early as they are, and once (H8)', async () => {
  const deltas = ['{"n":', '7', '7', '7', '}']
  const { log, events } = await ran([
    respond(call('look', deltas.join(''), { id: 'c1', deltas }), wait(100), say('So.')),
    done,
  ])
  expect(log).toEqual(['0 look 777'])
  expect(toolOutline(events)).toEqual(['tool-start c1 provisional', 'tool-committed c1', 'tool-end c1'])
})

test('if the arguments change during an input check, neither the old nor the new check result starts anything (H8, H4)', async () => {
  const begin = performance.now()
  const log: string[] = []
  const slow = tool({
    name: 'slow',
    description: 'Checks 1 for long, and would only read it.',
    input: input.refine(({ n }) => (n === 1 ? after(150).then(() => true) : true)),
    effect: ({ n }) => (n === 1 ? 'read' : 'external'),
    execute: ({ n }) => void log.push(`${Math.round(performance.now() - begin)} slow ${n}`),
  })
  const model = tellingModel(changing('{"n":2}', 'slow'))
  const agent = createAgent({ model, tools: [slow as Tool], middleware: [eagerTools()] })
  const { events } = await played(collect(agent.stream('Go')))
  expect(log).toEqual(['300 slow 2'])
  expect(toolOutline(events)).toEqual(['tool-start c1', 'tool-end c1'])
})

test('later output of a discarded call is not attributed to the call that replaces it (H20, D7)', async () => {
  const { log } = workshop()
  const deaf = tool({
    name: 'deaf',
    description: 'Goes on whatever happens, and speaks up.',
    input,
    effect: 'read',
    async *execute({ n }, { run }) {
      await after(150)
      log.push(`deaf ${n}`)
      run?.emit({ name: `emitted by ${n}`, data: null })
      yield { message: `progress of ${n}` }
      return n
    },
  })
  const model = tellingModel(changing('{"n":2}', 'deaf'))
  const agent = createAgent({ model, tools: [deaf as Tool], middleware: [eagerTools()] })
  const { events, result } = await played(collect(agent.stream('Go')))
  expect(log).toEqual(['deaf 1', 'deaf 2'])
  expect(toolOutline(events)).toEqual([
    'tool-start c1 provisional',
    'tool-discarded c1 arguments_changed',
    'tool-start c1 provisional',
    'tool-committed c1',
    'custom emitted by 2',
    'tool-progress c1 progress of 2',
    'tool-end c1',
  ])
  expect(results(result?.messages).map(({ output }) => output)).toEqual([2])
})

/** Removes c1, edits c2, adds c9. */
const editor: Middleware = {
  name: 'editor',
  afterModel({ messages }) {
    const last = messages.at(-1)
    if (last?.role !== 'assistant' || last.finishReason !== 'tool-calls') return
    const kept = last.content.filter((part) => part.type !== 'tool-call' || part.id !== 'c1')
    const edit = (part: AssistantPart) =>
      part.type === 'tool-call' && part.id === 'c2' ? { ...part, input: { n: 22 } } : part
    const content = kept.map(edit)
    const added = { type: 'tool-call' as const, id: 'c9', name: 'look', input: { n: 9 } }
    return { messages: [...messages.slice(0, -1), { ...last, content: [...content, added] }] }
  },
}

test('a call that afterModel removes is discarded, an edited one runs as edited, an added one runs after the model call (O3)', async () => {
  const script = respond(
    call('look', { n: 1 }, { id: 'c1', deltas: 1 }),
    call('look', { n: 2 }, { id: 'c2', deltas: 1 }),
    call('look', { n: 3 }, { id: 'c3', deltas: 1 }),
    wait(100),
    say('So.'),
  )
  const { log, events, result } = await ran([script, done], { middleware: [editor] })
  expect(log).toEqual(['0 look 1', '0 look 2', '0 look 3', '100 look 22', '100 look 9'])
  expect(toolOutline(events)).toEqual([
    'tool-start c1 provisional',
    'tool-start c2 provisional',
    'tool-start c3 provisional',
    'tool-discarded c2 arguments_changed',
    'tool-discarded c1 call_withdrawn',
    'tool-start c2',
    'tool-committed c3',
    'tool-end c3',
    'tool-start c9',
    'tool-end c2',
    'tool-end c9',
  ])
  expect(results(result?.messages).map(({ callId, output }) => [callId, output])).toEqual([
    ['c2', 'look 22'],
    ['c3', 'look 3'],
    ['c9', 'look 9'],
  ])
})
