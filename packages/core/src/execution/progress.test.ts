import { call, collect, respond, say, scriptedModel } from '@meanwhile/assemble/testing'
import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { z } from 'zod'
import { sleep } from '../../test/clock.ts'
import { type AgentEvent, type AgentRun, createAgent, type Message, type Progress, tool } from '../index.ts'

beforeEach(() => {
  vi.useFakeTimers({ now: 1_000_000 })
})
afterEach(() => {
  vi.useRealTimers()
})

const input = z.object({})

/** A tool that yields these, one every 10 ms. */
function reporting(reports: readonly Progress[]) {
  return tool({
    name: 'work',
    description: 'Works',
    input,
    async *execute() {
      for (const report of reports) {
        await sleep(10)
        yield report
      }
      return { parts: reports.length }
    },
  })
}

function start(tools: Parameters<typeof createAgent>[0]['tools'], ...names: string[]): AgentRun {
  const calls = names.map((name) => call(name))
  return createAgent({ model: scriptedModel([respond(...calls), respond(say('Done'))]), tools: tools ?? [] }).stream(
    'go',
  )
}

function progressOf(events: readonly AgentEvent[]) {
  return events.filter((event) => event.type === 'tool-progress')
}

function resultsOf(messages: readonly Message[]) {
  return messages.flatMap((message) =>
    message.role === 'tool' ? [[message.name, message.isError ?? false, message.content] as const] : [],
  )
}

test('each yield is an event with call, name and time while the tool runs, and not part of the history (I1)', async () => {
  const metadata = { file: 'a.ts', lines: [1, 2] }
  const run = start([reporting([{ progress: 0.25, message: 'reading', metadata }, { progress: 0.5 }])], 'work')
  const seen: [at: number, event: AgentEvent][] = []
  const reading = (async () => {
    for await (const event of run) if (event.type.startsWith('tool-progress')) seen.push([Date.now(), event])
  })()
  await vi.runAllTimersAsync()
  await reading
  const same = { runId: run.id, step: 1, type: 'tool-progress', callId: 'call_1_1', toolName: 'work', cancelable: true }
  expect(seen).toEqual([
    [1_000_010, { ...same, timestamp: 1_000_010, progress: 0.25, message: 'reading', metadata }],
    [1_000_020, { ...same, timestamp: 1_000_020, progress: 0.5 }],
  ])
  const { messages } = await run.result
  expect(messages.slice(2, 3)).toEqual([
    {
      role: 'tool',
      callId: 'call_1_1',
      name: 'work',
      content: [{ type: 'text', text: '{"parts":2}' }],
      output: { parts: 2 },
    },
  ])
  expect(JSON.stringify(messages)).not.toContain('reading')
})

test('what a generator returns is the result, as for any tool (I1)', async () => {
  const silent = tool({
    name: 'silent',
    description: 'Yields nothing',
    input,
    async *execute() {
      return 'whole'
    },
  })
  const run = start([silent], 'silent')
  const { events, result } = await collect(run)
  expect(progressOf(events)).toEqual([])
  expect(resultsOf(result?.messages ?? [])).toEqual([['silent', false, [{ type: 'text', text: 'whole' }]]])
})

test('progress is clamped to 0..1, never goes down, and an invalid number shows as the last one (I2)', async () => {
  const yielded = [-1, 0.2, 0.1, Number.NaN, 0.5, Number.POSITIVE_INFINITY, Number.NEGATIVE_INFINITY, 7, 0.9]
  const reading = collect(start([reporting(yielded.map((progress) => ({ progress })))], 'work'))
  await vi.runAllTimersAsync()
  const { events } = await reading
  expect(progressOf(events).map(({ progress }) => progress)).toEqual([0, 0.2, 0.2, 0.2, 0.5, 0.5, 0.5, 1, 1])
})

test('a yield may contain only a message, and before the first number there is no number (I2)', async () => {
  const reports = [
    { message: 'first' },
    { progress: Number.NaN, message: 'second' },
    { progress: 0.4 },
    { message: 'last' },
  ]
  const reading = collect(start([reporting(reports)], 'work'))
  await vi.runAllTimersAsync()
  const shown = progressOf((await reading).events).map(({ progress, message, metadata }) => ({
    ...(progress !== undefined && { progress }),
    ...(message !== undefined && { message }),
    ...(metadata !== undefined && { metadata }),
  }))
  expect(shown).toEqual([{ message: 'first' }, { message: 'second' }, { progress: 0.4 }, { message: 'last' }])
})

test.for([undefined, null, 'half of it', 0.5, [1]])(
  'a tool that yields %s, which is not progress, has failed, and is closed; the model reads what it may yield (I1, I14)',
  async (report) => {
    let closed = false
    const work = tool({
      name: 'work',
      description: 'Works',
      input,
      async *execute() {
        try {
          yield report as Progress
        } finally {
          closed = true
        }
      },
    })
    const run = start([work], 'work')
    const reading = collect(run)
    await vi.runAllTimersAsync()
    const { events, result } = await reading
    expect([closed, progressOf(events)]).toEqual([true, []])
    const text = 'work yielded something other than progress: { progress?, message?, metadata? }'
    expect(resultsOf(result?.messages ?? [])).toEqual([['work', true, [{ type: 'text', text }]]])
  },
)

test('each call of a tool has its own progress (I1, I2)', async () => {
  const reading = collect(start([reporting([{ progress: 0.8 }, { progress: 0.3 }])], 'work', 'work'))
  await vi.runAllTimersAsync()
  expect(progressOf((await reading).events).map(({ callId, progress }) => [callId, progress])).toEqual([
    ['call_1_1', 0.8],
    ['call_1_2', 0.8],
    ['call_1_1', 0.8],
    ['call_1_2', 0.8],
  ])
})

test('a tool fails the same way however it fails (I14)', async () => {
  const failing = [
    tool({
      name: 'at-once',
      description: 'Throws',
      input,
      execute() {
        throw new Error('broken')
      },
    }),
    tool({ name: 'rejecting', description: 'Rejects', input, execute: () => Promise.reject(new Error('broken')) }),
    tool({
      name: 'no-error',
      description: 'Throws a string',
      input,
      execute() {
        throw 'broken'
      },
    }),
    tool({
      name: 'between',
      description: 'Throws between yields',
      input,
      async *execute() {
        yield { progress: 0.5 }
        throw new Error('broken')
      },
    }),
    tool({
      name: 'first',
      description: 'Throws before its first yield',
      input,
      async *execute(): AsyncGenerator<Progress, string> {
        throw new Error('broken')
      },
    }),
  ]
  // Written by hand, and without the `return` that a generator has.
  const byHand = { next: () => Promise.reject(new Error('broken')), [Symbol.asyncIterator]: () => byHand }
  failing.push(tool({ name: 'by-hand', description: 'Rejects', input, execute: () => byHand }) as never)
  const names = failing.map(({ name }) => name)
  const { result } = await collect(start(failing, ...names))
  expect(resultsOf(result?.messages ?? [])).toEqual(
    names.map((name) => [name, true, [{ type: 'text', text: 'broken' }]]),
  )
})

test('a generator that throws has run its finally before the call counts as settled (I14)', async () => {
  const log: string[] = []
  const tidy = tool({
    name: 'tidy',
    description: 'Tidies up',
    input,
    async *execute() {
      try {
        yield { progress: 0.5 }
        throw new Error('broken')
      } finally {
        await sleep(50)
        log.push('tidied up')
      }
    },
  })
  const run = start([tidy], 'tidy')
  const reading = (async () => {
    for await (const event of run) if (event.type === 'tool-end') log.push('tool-end')
  })()
  await vi.runAllTimersAsync()
  await reading
  expect(log).toEqual(['tidied up', 'tool-end'])
})

test('a generator that ignores its signal is closed at its next yield once it is aborted (I14)', async () => {
  const log: [at: number, what: string][] = []
  const note = (what: string) => log.push([Date.now() - 1_000_000, what])
  const deaf = tool({
    name: 'deaf',
    description: 'Does not listen',
    input,
    async *execute() {
      try {
        for (;;) {
          await sleep(100)
          yield { message: 'still here' }
        }
      } finally {
        await sleep(20)
        note('tidied up')
      }
    },
  })
  const controller = new AbortController()
  const model = scriptedModel([respond(call('deaf'))])
  const run = createAgent({ model, tools: [deaf] }).stream('go', { signal: controller.signal })
  run.result.catch(() => note('the run has ended'))
  await vi.advanceTimersByTimeAsync(250)
  controller.abort()
  await vi.advanceTimersByTimeAsync(5_000)
  expect(log).toEqual([
    [320, 'tidied up'],
    [320, 'the run has ended'],
  ])
  await expect(run.result).rejects.not.toMatchObject({ abandoned: ['call_1_1'] })
  expect(vi.getTimerCount()).toBe(0)
})

test('a generator that is late is abandoned, and still closed at its next yield (I14)', async () => {
  const log: string[] = []
  const slow = tool({
    name: 'slow',
    description: 'Takes long between yields',
    input,
    async *execute() {
      try {
        for (;;) {
          await sleep(3_000)
          yield { message: 'still here' }
        }
      } finally {
        log.push('tidied up')
      }
    },
  })
  const controller = new AbortController()
  const model = scriptedModel([respond(call('slow'))])
  const run = createAgent({ model, tools: [slow] }).stream('go', { signal: controller.signal })
  const reading = collect(run)
  await vi.advanceTimersByTimeAsync(100)
  controller.abort()
  await vi.advanceTimersByTimeAsync(1_500)
  expect((await reading).error).toMatchObject({ name: 'AbortError', abandoned: ['call_1_1'] })
  expect(log).toEqual([])
  await vi.advanceTimersByTimeAsync(10_000)
  expect(log).toEqual(['tidied up'])
  expect(vi.getTimerCount()).toBe(0)
})
