import { getEventListeners } from 'node:events'
import { call, respond, say, scriptedModel, wait } from '@meanwhile/assemble/testing'
import { beforeEach, expect, onTestFinished, test, vi } from 'vitest'
import { sleep } from '../../test/clock.ts'
import { early } from '../../test/early-calls.ts'
import { watchListeners } from '../../test/listeners.ts'
import { toolOf } from '../../test/tools.ts'
import { agentTool, ConfigError, createAgent, type Middleware, memoryStore, runTool, settle } from '../index.ts'

beforeEach(() => {
  vi.useFakeTimers()
  return () => vi.useRealTimers()
})

// Node warns about the eleventh listener.
const COUNT = 20
const many = <Item>(make: (n: number) => Item): Item[] => Array.from({ length: COUNT }, (_, n) => make(n))
const listenersOn = (signal: AbortSignal) => getEventListeners(signal, 'abort').length

/** Takes half a second, unless it is aborted. */
const look = toolOf(
  'look',
  ({ signal }) =>
    new Promise((resolve, reject) => {
      setTimeout(resolve, 500)
      signal.addEventListener('abort', () => reject(signal.reason), { once: true })
    }),
)

const looking = respond(call('look'))
const done = respond(say('Done.'))

const kinds: Readonly<Record<string, (signal: AbortSignal) => PromiseLike<unknown>>> = {
  'a run': (signal) => createAgent({ model: scriptedModel([looking, done]), tools: [look] }).run('Go', { signal }),
  'a tool alone': (signal) => runTool(look, {}, { signal }),
  async 'a resumed run'(signal) {
    const model = scriptedModel([respond(wait(50), say('Late.')), looking, done])
    const agent = createAgent({ model, tools: [look], checkpoints: memoryStore() })
    const first = agent.stream('Go')
    setTimeout(() => void first.cancel(), 10)
    await first.result
    return agent.resume(first.id, {}, { signal }).result
  },
}

test.for(Object.entries(kinds))(
  '%s adds no listener to a signal that others follow, and none stays (P20, A25)',
  async ([, start]) => {
    for (const isAborted of [false, true]) {
      const controller = new AbortController()
      const works = Promise.allSettled(many((n) => sleep(n).then(() => start(controller.signal))))
      await vi.advanceTimersByTimeAsync(400)
      expect(listenersOn(controller.signal)).toBe(1)
      if (isAborted) controller.abort()
      // The first have ended, the last have not.
      else await vi.advanceTimersByTimeAsync(COUNT / 2 + 100)
      expect(listenersOn(controller.signal)).toBe(isAborted ? 0 : 1)
      await vi.runAllTimersAsync()
      expect(listenersOn(controller.signal)).toBe(0)
      const statuses = new Set((await works).map(({ status }) => status))
      expect([...statuses]).toEqual([isAborted ? 'rejected' : 'fulfilled'])
    }
  },
)

test('a run that is refused leaves no listener on the signal in its options (P20)', async () => {
  const { signal } = new AbortController()
  const agent = createAgent({ model: scriptedModel([]) })
  await expect(agent.run('Go', { signal, eventBuffer: -1 })).rejects.toThrow(ConfigError)
  await expect(agent.run([], { signal })).rejects.toThrow('empty')
  expect(listenersOn(signal)).toBe(0)
})

test('a signal that has aborted before a run begins stops it, and gets no listener (P20, K1)', async () => {
  const signal = AbortSignal.abort(new Error('enough'))
  const agent = createAgent({ model: scriptedModel([]) })
  await expect(agent.run('Go', { signal })).rejects.toMatchObject({ name: 'AbortError', cause: new Error('enough') })
  await expect(runTool(look, {}, { signal }).result).rejects.toThrow('enough')
  expect(listenersOn(signal)).toBe(0)
})

/** What a run does with this many things in parallel, with its own signal or its caller's. */
const crowds: Readonly<Record<string, () => Promise<unknown>>> = {
  'calls wait for a slot': () =>
    createAgent({
      model: scriptedModel([respond(...many(() => call('look'))), done]),
      tools: [look],
      toolConcurrency: 1,
    }).run('Go'),
  'agents run inside one call': () => {
    const inner = createAgent({ name: 'inner', description: 'i', model: scriptedModel(many(() => done)) })
    const asksAll = toolOf('asks_all', ({ signal }) => Promise.all(many(() => inner.run('Go', { signal }))))
    return createAgent({ model: scriptedModel([respond(call('asks_all')), done]), tools: [asksAll] }).run('Go')
  },
  'agents run as tools': () => {
    const inner = createAgent({ name: 'inner', description: 'i', model: scriptedModel(many(() => done)) })
    const asked = many(() => call('inner', { request: 'Go' }))
    return createAgent({ model: scriptedModel([respond(...asked), done]), tools: [agentTool(inner)] }).run('Go')
  },
  'a model call is attempted': () => {
    const hedges: Middleware = {
      name: 'hedges',
      async *wrapModel(request, next) {
        const [first] = await Promise.all(many(() => settle(next(request))))
        if (!first) throw new Error('none')
        return first
      },
    }
    return createAgent({ model: scriptedModel(many(() => respond(wait(50), say('Done.')))), middleware: [hedges] }).run(
      'Go',
    )
  },
  'a call is executed': () => {
    const hedges: Middleware = {
      name: 'hedges',
      async *wrapToolCall(call, next) {
        const [first] = await Promise.all(many(() => settle(next(call))))
        if (!first) throw new Error('none')
        return first
      },
    }
    return createAgent({ model: scriptedModel([looking, done]), tools: [look], middleware: [hedges] }).run('Go')
  },
  'a tool waits until its call stands': () => {
    const waits = toolOf('waits', ({ callId, run }) => Promise.all(many(async () => run?.stood(callId))))
    const model = scriptedModel([respond(call('waits'), wait(50)), done])
    return createAgent({ model, tools: [waits], middleware: [early] }).run('Go')
  },
  'models are asked on the side': () => {
    const asks: Middleware = {
      name: 'asks',
      async afterModel(_, run) {
        const { signal } = new AbortController()
        const messages = [{ role: 'user', content: 'Psst' }] as const
        await Promise.all(many(() => run.callModel({ messages, signal })))
      },
    }
    const model = scriptedModel([done, ...many(() => respond(wait(50), say('On the side.')))])
    return createAgent({ model, middleware: [asks] }).run('Go')
  },
}

test.for(Object.entries(crowds))(
  'no signal gets more than ten listeners when %s twenty times in parallel (P20)',
  async ([, work]) => {
    const watch = watchListeners()
    onTestFinished(watch.end)
    const working = work()
    await vi.runAllTimersAsync()
    await working
    expect(watch.most).toBeGreaterThan(0)
    expect(watch.most).toBeLessThanOrEqual(10)
  },
)
