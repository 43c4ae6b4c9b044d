import { createAgent, type Model, type NeedsContext } from '@meanwhile/core'
import { played } from '@meanwhile/tests/clock'
import { InMemorySpanExporter, SimpleSpanProcessor, TracerProvider } from '@opentelemetry/sdk-trace'
import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { editing } from '../test/scenario.ts'
import { type Moment, tellingModel } from '../test/telling-model.ts'
import { workshop } from '../test/workshop.ts'
import { eagerTools } from './index.ts'

beforeEach(() => void vi.useFakeTimers())
afterEach(() => void vi.useRealTimers())

const exporter = new InMemorySpanExporter()
const tracerProvider = new TracerProvider({ spanProcessors: [new SimpleSpanProcessor({ exporter })] })

const done: Moment[] = [
  [0, (to) => to.text('Done.')],
  [0, (to) => to.finish('stop')],
]

interface Said {
  readonly name: string
  readonly closed: string
  /** Default: the arguments it closed with. */
  readonly sealed?: string
}

/** One call: its arguments close at once, it is sealed 100 ms later, and the response ends 100 ms after that. */
const response = (...calls: readonly Said[]): Moment[] => [
  ...calls.map(({ name, closed }, label): Moment => [0, (to) => to.call(label, { name, delta: closed })]),
  ...calls.map(({ closed, sealed = closed }, label): Moment => [100, (to) => to.seal(label, sealed)]),
  [200, (to) => to.finish('tool-calls')],
]

const look = (n: number, sealed = n): Said => ({ name: 'look', closed: `{"n":${n}}`, sealed: `{ "n": ${sealed} }` })
const peek = (n: number, sealed = n): Said => ({ ...look(n, sealed), name: 'peek' })

async function run(model: Model, middleware = [eagerTools()]) {
  exporter.reset()
  const { log, tools, make } = workshop()
  const open = make('open', 'read', {
    needs: ['n'],
    async execute({ n }, context) {
      log.push(`${Math.round(performance.now() - begin)} open ${String(n)}`)
      await (context as NeedsContext<unknown>).rest
      return 'open'
    },
  })
  const begin = performance.now()
  const agent = createAgent({
    model,
    tools: [...tools, make('peek', 'read'), open],
    middleware,
    telemetry: { tracerProvider },
  })
  const { warnings } = await played(agent.run('Go'))
  const dispatch = exporter
    .getFinishedSpans()
    .filter(({ name }) => name.startsWith('execute_tool'))
    .map(({ attributes }) =>
      ['mode', 'evidence', 'deferral_reason'].map((name) => attributes[`meanwhile.dispatch.${name}`]),
    )
    .map((told) => told.filter((value) => typeof value === 'string').join(' '))
  return { log, warnings, dispatch }
}

const warning = (message: string) => ({ code: 'breaker', message, source: 'eager-tools' })
const first = (tool: string) =>
  warning(
    `telling/telling-1 changed the arguments of ${tool} after they had closed: from now on calls of ${tool} wait until they are sealed`,
  )
const second = (tool: string) =>
  warning(
    `telling/telling-1 changed the arguments of ${tool} after they had closed: from now on all calls wait until they are sealed`,
  )

test('after one divergence, calls of that tool and model wait for their seals, other tools do not (H35)', async () => {
  const { log, warnings } = await run(
    tellingModel([response(look(1, 2)), response(look(3), peek(4)), response(look(5)), done]),
  )
  expect(log).toEqual(['0 look 1', '100 look 2', '200 peek 4', '300 look 3', '500 look 5'])
  expect(warnings).toEqual([first('look')])
})

test('a second divergence applies to the whole model, each is reported once, and another run starts from zero (H35)', async () => {
  const model = tellingModel([
    response(look(1, 2), look(3, 4), look(5, 6)),
    response(peek(7)),
    done,
    response(look(8)),
    done,
  ])
  const middleware = [eagerTools()]
  const { log, warnings } = await run(model, middleware)
  expect(log).toEqual(['0 look 1', '0 look 3', '0 look 5', '100 look 2', '100 look 4', '100 look 6', '300 peek 7'])
  expect(warnings).toEqual([first('look'), second('look')])
  expect((await run(model, middleware)).log).toEqual(['0 look 8'])
})

test('the span of a call that waits because of the breaker shows it, and the call starts when it is sealed (H35, H28)', async () => {
  const { dispatch } = await run(tellingModel([response(look(1, 2)), response(look(3)), done]))
  expect(dispatch).toEqual(['early closed', 'early sealed', 'early sealed breaker'])
})

test('text after closed arguments is a divergence, different white space is not (H35)', async () => {
  const junk: Moment[] = [
    [0, (to) => to.call(0, { name: 'look', delta: '{"n":1}' })],
    [100, (to) => to.call(0, { delta: ' and so on' })],
    [200, (to) => to.finish('tool-calls')],
  ]
  expect((await run(tellingModel([junk, done]))).warnings).toEqual([first('look')])
  expect((await run(tellingModel([response(look(1)), done]))).warnings).toEqual([])
})

test('later changes to members that a call has started with are a divergence, missing members are not (H35, H31)', async () => {
  const prefixed = (sealed: string): Moment[] => [
    [0, (to) => to.call(0, { name: 'open', delta: '{"n":1,' })],
    [100, (to) => to.call(0, { delta: '"ms":0}' })],
    [150, (to) => to.seal(0, sealed)],
    [200, (to) => to.finish('tool-calls')],
  ]
  const changed = await run(tellingModel([prefixed('{"n":2,"ms":0}'), prefixed('{"n":1,"ms":0}'), done]))
  expect(changed.warnings).toEqual([first('open')])
  expect(changed.log).toEqual(['0 open 1', '150 open 2', '350 open 1'])
  expect((await run(tellingModel([prefixed('{"ms":0,"n":1}'), done]))).warnings).toEqual([])
})

test('arguments that end after the members a call has started with are not a divergence (H35)', async () => {
  const broken: Moment[] = [
    [0, (to) => to.call(0, { name: 'open', delta: '{"n":1,' })],
    [100, (to) => to.call(0, { delta: '"ms":' })],
    [150, (to) => to.seal(0)],
    [200, (to) => to.finish('tool-calls')],
  ]
  const { log, warnings } = await run(tellingModel([broken, done]))
  expect(log).toEqual(['0 open 1'])
  expect(warnings).toEqual([])
})

test('a member that comes after the arguments had closed is a divergence (H35)', async () => {
  const more: Said = { name: 'look', closed: '{"n":1}', sealed: '{"n":1,"ms":5}' }
  const { log, warnings } = await run(tellingModel([response(more), done]))
  expect(log).toEqual(['0 look 1', '100 look 1'])
  expect(warnings).toEqual([first('look')])
})

test('a call that started with some members gets the rest as soon as it closes, whatever the breaker decides by then (H35, H31)', async () => {
  const got: string[] = []
  const begin = performance.now()
  const opening: Moment[] = [
    [0, (to) => to.call(0, { name: 'read', delta: '{"n":1,' })],
    [0, (to) => to.call(1, { name: 'read', delta: '{"n":2,"ms":1}' })],
    [100, (to) => to.seal(1, '{"n":3,"ms":1}')],
    [200, (to) => to.call(0, { delta: '"ms":0}' })],
    [300, (to) => to.seal(0)],
    [400, (to) => to.finish('tool-calls')],
  ]
  const read = workshop().make('read', 'read', {
    needs: ['n'],
    async execute({ n }, context) {
      await (context as NeedsContext<unknown>).rest
      got.push(`${Math.round(performance.now() - begin)} ${String(n)}`)
      return 'read'
    },
  })
  const agent = createAgent({ model: tellingModel([opening, done]), tools: [read], middleware: [eagerTools()] })
  const { warnings } = await played(agent.run('Go'))
  expect(warnings).toEqual([first('read')])
  expect(got).toContain('200 1')
})

test('arguments that a hook has changed are not a divergence of the model (H35)', async () => {
  const { warnings } = await run(tellingModel([response(look(1)), done]), [eagerTools(), editing])
  expect(warnings).toEqual([])
})
